# Mounts the file system of control groups in the namespaces of the host's first
# process. The host may have no tool for that, so ours is put where the host may start
# it, and taken away again.
set -eu
folder=${HOST_BIN:-/hostbin} tool=cilium-mount
trap 'rm -f "$folder/$tool"' EXIT
cp "/usr/bin/$tool" "$folder/$tool"
nsenter --cgroup=/hostproc/1/ns/cgroup --mount=/hostproc/1/ns/mnt "$BIN_PATH/$tool" "$CGROUP_ROOT"
