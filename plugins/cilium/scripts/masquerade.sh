# Keeps rules in the chain of iptables in which Cilium's agent masquerades. The agent
# makes the chain, and writes its own rules again whenever it starts.
set -eu
trap 'exit 0' TERM

# A shell only heeds signals at once while it waits for a child.
pause() {
  sleep "$1" &
  wait $!
}

# keep POSITION RULE...: puts the rule there, or last if that is empty, unless it is in
# the chain.
keep() {
  position=$1
  shift
  iptables -w -t nat -C CILIUM_POST_nat "$@" 2>/dev/null && return
  if [ -n "$position" ]; then
    iptables -w -t nat -I CILIUM_POST_nat "$position" "$@"
  else
    iptables -w -t nat -A CILIUM_POST_nat "$@"
  fi
}

# masquerade POSITION DESTINATION: gives what pods send there the node's address, unless
# it goes to an interface of Cilium's.
masquerade() {
  keep "$1" -s "$POD_CIDR" -d "$2" ! -o cilium_+ -m comment --comment "cilium masquerade non-cluster" -j MASQUERADE
}

# forever COMMAND: runs it again and again, after the agent has written its rules.
forever() {
  while true; do
    pause 15
    "$1" || echo "not all rules could be written" >&2
    pause 45
  done
}
