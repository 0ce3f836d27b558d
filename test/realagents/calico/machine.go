// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/trellis-network/trellis/test/realagents/build"

// packagesFile names the packages of Debian that agents are built with, or whose tools are in
// their images, one a line.
const packagesFile = "test/realagents/calico/debian-packages"

// kernelParts are what agents need of the kernel.
var kernelParts = []build.KernelPart{
	{Name: "vxlan", Try: "ip link add x type vxlan id 4096 dstport 4789"},
	{Name: "veth", Try: "ip link add x type veth peer name y"},
	{Name: "ip_set", Try: "ipset create x hash:net"},
	{Name: "nf_tables with xt_set", Try: "ipset create x hash:net && iptables-nft -A OUTPUT -m set --match-set x dst -j ACCEPT"},
	{Name: "IPv6 in nf_tables", Try: "ip6tables-nft -A OUTPUT -j ACCEPT"},
	{Name: "xt_mark and xt_conntrack", Try: "iptables-nft -A OUTPUT -m conntrack --ctstate NEW -j MARK --set-mark 1"},
}
