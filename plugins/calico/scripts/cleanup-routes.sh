# Removes the routes that BIRD left on the node while there was an overlay. They
# lead into tunnels that are no longer there. A node without IPv6 has none.
set -eu
ip -4 route flush proto bird
ip -6 route flush proto bird || true
