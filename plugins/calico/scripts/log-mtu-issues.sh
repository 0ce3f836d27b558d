# Lets the kernel log when the node tells a sender that its packets are too big,
# because then some MTU is wrong. Runs after iptables.sh, which sets $backend.
# shellcheck shell=sh disable=SC2154
set -eu

# log COMMAND COMMENT MATCH...: puts a rule first in OUTPUT, unless it is there.
log() {
  command=$1 comment=$2
  shift 2
  set -- "$@" -m comment --comment "$comment" -j LOG --log-prefix "PACKET-TOO-BIG "
  "$command" -w -t filter -C OUTPUT "$@" 2>/dev/null || "$command" -w -t filter -I OUTPUT 1 "$@"
}

# It is only about logging: a node that cannot do it still gets its network.
log "iptables-$backend" "gardener log mtu problems for ipv4" \
  -p icmp -m icmp --icmp-type fragmentation-needed ||
  echo "IPv4 packets that are too big will not be logged" >&2
log "ip6tables-$backend" "gardener log mtu problems for ipv6" \
  -p icmpv6 -m icmp6 --icmpv6-type packet-too-big ||
  echo "IPv6 packets that are too big will not be logged" >&2
