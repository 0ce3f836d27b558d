#!/usr/bin/env bash
# Fails if the core names a plugin or a cloud outside its tests: what it knows of
# them it may only know through the plugin package. Also fails if a status is written
# outside the one file of each controller that writes it.
set -euo pipefail
names='calico|cilium|flannel|gardenet|azure|alicloud|openstack|\baws\b|\bgcp\b'
if grep -rniE "$names" --include='*.go' --exclude='*_test.go' plugin pipeline internal operator admission cli; then
	echo "the core knows no plugin and no cloud by name (docs/design.md)" >&2
	exit 1
fi
writers='^internal/controller/((network|shoot|managedresource)/status|networkstatus/write|route/nodes)\.go:'
if grep -rnE '(Status\(\)|SubResource\([^)]*\))\.(Apply|Create|Patch|Update)\(' --include='*.go' --exclude='*_test.go' internal operator | grep -vE "$writers"; then
	echo "each controller writes its status in one file (docs/design.md)" >&2
	exit 1
fi
