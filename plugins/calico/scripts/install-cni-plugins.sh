# Copies the CNI plugins of this image to the node, but for those that Calico puts
# there. Any of them may be running, so each is replaced in one step.
set -eu
from=${PLUGINS:-/usr/src/cni/bin}
to=${TARGET:-/host/opt/cni/bin}
for plugin in "$from"/*; do
  name=${plugin##*/}
  case $name in
  host-local | portmap | loopback | tuning) continue ;;
  esac
  cp "$plugin" "$to/.$name.new"
  mv "$to/.$name.new" "$to/$name"
done
