// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// neverClusters are addresses at which no shoot's API server is, and at which the operator
// may reach what a user of a shoot must not: this host, link-local addresses with the
// metadata services of infrastructures, the other addresses of such services, and those of
// several hosts. Private ranges are not among them: API servers are there.
var neverClusters = prefixes("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32", "224.0.0.0/3",
	"::/127", "fe80::/10", "fd00:ec2::/32", "fd20:ce::/32", "ff00::/8")

func prefixes(ranges ...string) (parsed []netip.Prefix) {
	for _, each := range ranges {
		parsed = append(parsed, netip.MustParsePrefix(each))
	}
	return parsed
}

// NeverClusters returns a value for Options.RefuseAddress: it refuses the addresses that are
// never a cluster's, but for the ranges that the operator allows, which must be valid.
func NeverClusters(allowed ...string) func(netip.Addr) bool {
	exceptions := prefixes(allowed...)
	return func(address netip.Addr) bool {
		in := func(p netip.Prefix) bool { return p.Contains(address) }
		return slices.ContainsFunc(neverClusters, in) && !slices.ContainsFunc(exceptions, in)
	}
}

// checkAddress returns an error if an address is refused. The address is the one to connect
// to, after names are resolved.
func (o *Options) checkAddress(address netip.Addr) error {
	if address = address.Unmap().WithZone(""); o.RefuseAddress == nil || !o.RefuseAddress(address) {
		return nil
	}
	return fmt.Errorf("the address %s is not one of a cluster, and is not connected to; put the address of the shoot's API server into the kubeconfig, or have the operator of the seed allow it (shootClientConnection.allowedAddresses)", address)
}

// control checks the address of a connection before it is opened, as net.Dialer.Control.
func (o *Options) control(_, address string, _ syscall.RawConn) error {
	parsed, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	return o.checkAddress(parsed.Addr())
}
