# Writes the host's settings of the kernel so that none of them undoes Cilium's, with a
# tool that is put where the host may start it, and taken away again.
set -eu
folder=${HOST_BIN:-/hostbin} tool=cilium-sysctlfix
trap 'rm -f "$folder/$tool"' EXIT
cp "/usr/bin/$tool" "$folder/$tool"
nsenter --mount=/hostproc/1/ns/mnt "$BIN_PATH/$tool"
