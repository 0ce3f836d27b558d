#!/usr/bin/env bash
# Fails if a planted bug no longer applies to the file that it changes: make robustness
# could then not show that a test finds it (test/robustness/planted_test.go).
set -euo pipefail
failed=
for patch in test/robustness/planted/*.patch test/robustness/planted/protections/*.patch; do
	git apply --check --whitespace=nowarn "$patch" || failed+=" $patch"
done
if [ -n "$failed" ]; then
	echo "write these bugs again, for the code as it is now:$failed" >&2
	exit 1
fi
