# Masquerades what pods send to the node's name servers: some infrastructures only
# answer the nodes' own addresses. Runs after iptables.sh, which sets $backend.
# shellcheck shell=sh disable=SC2154
set -eu
trap 'exit 0' TERM

# A shell only heeds signals at once while it waits for a child.
pause() {
  sleep "$1" &
  wait $!
}

# masquerade COMMAND DESTINATION: puts the rule first in POSTROUTING, unless it is
# there. What goes to pods keeps its source.
masquerade() {
  command=$1
  set -- -s "$POD_CIDR" -d "$2" ! -o cali+ \
    -m comment --comment "calico masquerade non-cluster" -j MASQUERADE
  "$command" -w -t nat -C POSTROUTING "$@" 2>/dev/null || "$command" -w -t nat -I POSTROUTING 1 "$@"
}

# masquerade_all: a rule for each name server of the pods' own IP family. The next
# round tries again what failed in this one.
masquerade_all() {
  while read -r keyword server _ || [ -n "$keyword" ]; do
    [ "$keyword" = nameserver ] || continue
    case "$server $POD_CIDR" in
    *:*" "*:*) masquerade "ip6tables-$backend" "${server%%\%*}/128" ;;
    *:*) continue ;;
    *) masquerade "iptables-$backend" "$server/32" ;;
    esac || echo "requests to $server are not masqueraded" >&2
  done <"${RESOLV_CONF:-/etc/resolv.conf}"
}

# Felix writes its own rules first.
pause 15
while true; do
  masquerade_all || echo "the node's name servers cannot be read" >&2
  pause 60
done
