#!/usr/bin/env bash
# Fails if Go files in the given folders, and in those below, use what a network must not
# depend on: the environment, the host, files, other hosts, the clock or chance. Tests are
# left out.
set -euo pipefail
packages='"(os|os/[a-z]+|io/ioutil|syscall|net/http|crypto/rand|math/rand|math/rand/v2|hash/maphash|k8s.io/apimachinery/pkg/util/(rand|uuid))"'
names='\b(time\.(Now|Since|Until|After|AfterFunc|Tick|NewTimer|NewTicker|Sleep|Local|LoadLocation)|metav1\.Now'
names+='|runtime\.(NumCPU|GOMAXPROCS|NumGoroutine|GOOS|GOARCH)|filepath\.(Abs|EvalSymlinks|Glob|Walk|WalkDir)'
names+='|net\.(Dial|Listen|Lookup|Interface|Resolve)[A-Za-z]*)\b'
found=$(grep -rnE --include='*.go' --exclude='*_test.go' -- "$packages|$names" "$@") || [ $? -eq 1 ] # 2: a folder is missing
if [ -n "$found" ]; then
	echo "$found"
	echo "the objects of a network may only depend on its config and the input of the hooks (docs/write-a-plugin.md)" >&2
	exit 1
fi
