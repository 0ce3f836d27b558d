// SPDX-License-Identifier: Apache-2.0

package probe

import "net/netip"

// nodeLocalDNS is where NodeLocal DNSCache answers on each node, by the documentation of
// Kubernetes: the resolv.conf of pods names it where kube-proxy uses IPVS.
var nodeLocalDNS = netip.AddrPortFrom(netip.AddrFrom4([4]byte{169, 254, 20, 10}), dnsPort)

// MayConnect reports whether a probe connects to an address. All that a probe connects to is stated
// by others: the API server, other probes, DNS, or what changes its pod. It does not connect to
// itself, to its node's own link (where metadata services of infrastructures are), or to many at
// once. The DNS cache on the node is the only exception.
func MayConnect(to netip.AddrPort) bool {
	address := netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	return usable(address.Addr()) || address == nodeLocalDNS
}

// usable is MayConnect for an address at any port.
func usable(address netip.Addr) bool {
	return address.IsGlobalUnicast() && address.Zone() == ""
}
