// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// neverClusters are addresses at which no shoot's API server is, and at which the operator
// may reach what a user of a shoot must not: this host, link-local addresses with the
// metadata services of infrastructures, the other addresses of such services, and those of
// several hosts; and local NAT64 (RFC 8215), whose networks choose which bytes have the IPv4
// address. Private ranges are not among them: API servers are there.
var neverClusters = prefixes("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "224.0.0.0/3",
	"::/127", "64:ff9b:1::/48", "fe80::/10", "fd00:ec2::/32", "fd20:ce::/32", "ff00::/8")

// embedding maps ranges of IPv6 addresses to the byte at which they have the IPv4 address that
// a gateway sends their packets to: NAT64 (RFC 6052), 6to4 (RFC 3056), IPv4-translated (RFC
// 2765) and IPv4-compatible addresses (RFC 4291).
var embedding = map[netip.Prefix]int{
	netip.MustParsePrefix("64:ff9b::/96"): 12, netip.MustParsePrefix("2002::/16"): 2,
	netip.MustParsePrefix("::ffff:0:0:0/96"): 12, netip.MustParsePrefix("::/96"): 12,
}

func prefixes(ranges ...string) (parsed []netip.Prefix) {
	for _, each := range ranges {
		parsed = append(parsed, netip.MustParsePrefix(each))
	}
	return parsed
}

// NeverClusters returns a value for Options.RefuseAddress: it refuses the addresses that are
// never a cluster's, and those that embed such an IPv4 address, but for the ranges that the
// operator allows, which must be valid.
func NeverClusters(allowed ...string) func(netip.Addr) bool {
	exceptions := prefixes(allowed...)
	return func(address netip.Addr) bool {
		never := contain(neverClusters, address) || contain(neverClusters, embedded(address))
		return never && !contain(exceptions, address)
	}
}

// embedded returns the IPv4 address that an IPv6 address leads to, or the zero Addr.
func embedded(address netip.Addr) netip.Addr {
	bytes := address.As16()
	for prefix, at := range embedding {
		if prefix.Contains(address) {
			return netip.AddrFrom4([4]byte(bytes[at:]))
		}
	}
	return netip.Addr{}
}

func contain(ranges []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(address) })
}

// checkAddress returns an error if an address is refused. The address is the one to connect
// to, after names are resolved.
func (o *Options) checkAddress(address netip.Addr) error {
	if address = address.Unmap().WithZone(""); o.RefuseAddress == nil || !o.RefuseAddress(address) {
		return nil
	}
	return fmt.Errorf("the address %s %s", address, isNoCluster)
}

const isNoCluster = "is not one of a cluster, and is not connected to; put the address of the shoot's API server into the kubeconfig, or have the operator of the seed allow it (shootClientConnection.allowedAddresses)"

// errNotConnectedTo does not tell to which address a name leads.
var errNotConnectedTo = errors.New("the address that it has " + isNoCluster)

// control checks the address of a connection before it is opened, as net.Dialer.Control.
func (o *Options) control(_, address string, _ syscall.RawConn) error {
	parsed, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if o.checkAddress(parsed.Addr()) != nil {
		return errNotConnectedTo
	}
	return nil
}
