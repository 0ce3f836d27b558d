# Removes the routes through the tunnel of a former overlay with IP-in-IP, which carried
# IPv4 only. The other routes of BIRD stay: BIRD is the backend, and pods need them while it
# restarts. Calico's VXLAN has no routes of BIRD.
set -eu
if ip link show dev tunl0 >/dev/null 2>&1; then
  ip -4 route flush proto bird dev tunl0
fi
