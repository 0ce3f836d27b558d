// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// protocol tells the agent's routes from those of others, which it leaves alone.
const protocol = 98

// setRoutes makes the routes to the other nodes' ranges, and deletes those to nodes that are gone. Packets to
// nodes in another subnet go to its router, which must know the way.
func setRoutes(wanted map[netip.Prefix]netip.Addr) error {
	present, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Protocol: protocol}, netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return fmt.Errorf("list the routes: %w", err)
	}
	var errs []error
	missing := map[netip.Prefix]bool{}
	for prefix := range wanted {
		missing[prefix] = true
	}
	for i := range present {
		prefix, gateway := destination(&present[i])
		switch address, needed := wanted[prefix]; {
		case needed && address == gateway:
			delete(missing, prefix)
		case !needed:
			if err := netlink.RouteDel(&present[i]); err != nil && !errors.Is(err, unix.ESRCH) {
				errs = append(errs, fmt.Errorf("delete the route to %s: %w", prefix, err))
			}
		}
	}
	for prefix := range missing {
		route := &netlink.Route{
			Dst: &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), 32)}, Gw: wanted[prefix].AsSlice(), Protocol: protocol,
		}
		if err := netlink.RouteReplace(route); err != nil && !errors.Is(err, unix.ENETUNREACH) { // in another subnet
			errs = append(errs, fmt.Errorf("make a route to %s by %s: %w", prefix, wanted[prefix], err))
		}
	}
	return errors.Join(errs...)
}

func destination(route *netlink.Route) (netip.Prefix, netip.Addr) {
	gateway, _ := netip.AddrFromSlice(route.Gw.To4())
	if route.Dst == nil {
		return netip.Prefix{}, gateway
	}
	address, _ := netip.AddrFromSlice(route.Dst.IP.To4())
	bits, _ := route.Dst.Mask.Size()
	return netip.PrefixFrom(address, bits), gateway
}
