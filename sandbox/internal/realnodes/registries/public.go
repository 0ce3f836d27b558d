// SPDX-License-Identifier: Apache-2.0

package registries

import (
	"fmt"
	"net"
	"net/netip"
)

// special are ranges that the standard library takes for global although no public host is
// there (the IANA registries of special-purpose addresses), or whose addresses stand for IPv4
// ones of any kind.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),  // shared by carriers, RFC 6598
	netip.MustParsePrefix("192.0.0.0/24"),   // IETF protocol assignments
	netip.MustParsePrefix("198.18.0.0/15"),  // benchmarks
	netip.MustParsePrefix("240.0.0.0/4"),    // reserved, and broadcast
	netip.MustParsePrefix("64:ff9b::/96"),   // NAT64
	netip.MustParsePrefix("64:ff9b:1::/48"), // NAT64 of a network
	netip.MustParsePrefix("2002::/16"),      // 6to4
	netip.MustParsePrefix("fec0::/10"),      // site-local
}

// notPublic is the error for an address at which no public registry is.
type notPublic struct {
	address netip.Addr
	what    string
}

// Error implements error.
func (n *notPublic) Error() string { return fmt.Sprintf("%s is %s", n.address, n.what) }

// checkPublic returns a *notPublic for an address that is not of a public host, and for those
// of this machine.
func checkPublic(address netip.Addr) error {
	address = address.Unmap().WithZone("")
	switch {
	case address.IsLoopback(), address.IsUnspecified():
		return &notPublic{address, "the machine itself"}
	case !address.IsGlobalUnicast(), address.IsPrivate():
		return &notPublic{address, "no public address"}
	}
	for _, prefix := range special {
		if prefix.Contains(address) {
			return &notPublic{address, "no public address"}
		}
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	for _, each := range own {
		if prefix, err := netip.ParsePrefix(each.String()); err == nil && prefix.Addr() == address {
			return &notPublic{address, "the machine itself"}
		}
	}
	return nil
}
