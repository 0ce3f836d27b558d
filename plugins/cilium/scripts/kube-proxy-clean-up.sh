# Removes the rules of a kube-proxy that ran on this node before, whose chains all have
# KUBE in their names.
set -eu

# clean COMMAND: takes its rules away and leaves all others. They are read to the end
# before any is written, since those that are cut off would be as good as deleted.
clean() {
  rules=$("$1-save") || return
  case $rules in
  *KUBE*) printf '%s\n' "$rules" | grep -v KUBE | "$1-restore" --verbose ;;
  esac
}

clean iptables
clean ip6tables || echo "rules for IPv6 are left as they are" >&2
