#!/usr/bin/env bash
# Fails where this module and the sandbox's require different versions of the same module:
# everything that depends on such a module would be compiled twice on a fresh machine.
# The sandbox has the versions of Kubernetes' own modules as replacements.
set -euo pipefail
cd "$(dirname "$0")/.."

versions() { # of what the module in the folder $1 requires: path and version, a line each
  awk '
    { sub(/\/\/.*/, "") }
    $1 == "require" || $1 == "replace" { block = $1; $1 = ""; $0 = $0 }
    $1 == ")" { block = "" }
    block == "require" && $2 ~ /^v/ { version[$1] = $2 }
    block == "replace" && $2 == "=>" && $4 ~ /^v/ { if ($1 in version) version[$1] = $4 }
    END { for (path in version) print path, version[path] }
  ' "$1/go.mod" | sort
}

different=$(join <(versions .) <(versions sandbox) | awk '$2 != $3 { print $1 ": " $2 " here, " $3 " in sandbox/" }')
if [ -n "$different" ]; then
  printf 'go.mod and sandbox/go.mod require different versions. Run in the module with the older one:\n  go get MODULE@VERSION && go mod tidy\n%s\n' "$different" >&2
  exit 1
fi
