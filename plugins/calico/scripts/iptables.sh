# Sets $backend to the kind of iptables that the rest of the node uses: nft or
# legacy. Rules in the other one would stand beside the node's, not among them.
# The kubelet and kube-proxy leave a chain in the one that they use.
backend=legacy
for command in iptables-nft ip6tables-nft; do
  for chain in KUBE-IPTABLES-HINT KUBE-KUBELET-CANARY; do
    if "$command" -w -t mangle -n -L "$chain" >/dev/null 2>&1; then
      backend=nft
    fi
  done
done
