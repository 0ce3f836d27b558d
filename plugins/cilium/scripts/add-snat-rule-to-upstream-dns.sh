# Masquerades what pods send to the node's name servers. Runs after masquerade.sh.

name_servers() {
  while read -r keyword server _ || [ -n "$keyword" ]; do
    [ "$keyword" = nameserver ] || continue
    case "$server $POD_CIDR" in
    *:*) continue ;; # there is no such chain for IPv6
    esac
    masquerade 1 "$server/32" || echo "requests to $server are not masqueraded" >&2
  done <"${RESOLV_CONF:-/etc/resolv.conf}"
}

forever name_servers
