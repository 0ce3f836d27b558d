# Mounts the file system of eBPF programs, unless it is mounted: what is in it must
# outlive the pod.
set -eu
mount | grep -q '/sys/fs/bpf type bpf' || mount -t bpf bpf /sys/fs/bpf
