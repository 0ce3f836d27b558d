# Masquerades what pods send to neither pods nor nodes. Runs after masquerade.sh. The
# order of the rules matters: the last one matches everything.

outside_world() {
  case $POD_CIDR in
  *:*) return 0 ;; # there is no such chain for IPv6
  esac
  keep "" -s "$POD_CIDR" -d "$POD_CIDR" -j RETURN || return
  if [ -n "$NODE_CIDR" ]; then
    keep "" -s "$POD_CIDR" -d "$NODE_CIDR" -j RETURN || return
  fi
  masquerade "" 0.0.0.0/0
}

forever outside_world
