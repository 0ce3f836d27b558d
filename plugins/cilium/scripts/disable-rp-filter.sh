# Lets the node take packets that come in elsewhere than where their answers would go
# out. Takes effect when the node next reads its settings.
set -eu
settings=${HOST_ETC:-/host/etc}/sysctl.d
mkdir -p "$settings"
echo 'net.ipv4.conf.all.rp_filter=0' >"$settings/99-cilium-rp-filter.conf"
