#!/usr/bin/env bash
# Fails if `make generate` changes anything in the given folders.
set -euo pipefail
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
cp -r "$@" "$before"
make --no-print-directory generate
for folder in "$@"; do
	diff -r "$before/$folder" "$folder" || { echo "generated files were not up to date; commit what make generate has just written" >&2; exit 1; }
done
