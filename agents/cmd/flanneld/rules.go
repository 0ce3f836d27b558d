// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/flannel-io/flannel/pkg/ip"
	"github.com/flannel-io/flannel/pkg/lease"
	"github.com/flannel-io/flannel/pkg/subnet"
	"github.com/flannel-io/flannel/pkg/trafficmngr"
	"github.com/flannel-io/flannel/pkg/trafficmngr/iptables"
	"github.com/flannel-io/flannel/pkg/trafficmngr/nftables"
	"k8s.io/klog/v2"

	"github.com/trellis-network/trellis/agents/internal/subnetenv"
)

// setRules lets the node forward and masquerade the pod network's packets, with iptables or
// nftables as the configuration says, and removes the rules of the other one, which an earlier
// configuration may have left. It must run before the file for the CNI plugin is written again:
// rules for the ranges in there are replaced.
func setRules(ctx context.Context, o *options, config *subnet.Config, leased *lease.Lease) error {
	var wanted, other trafficmngr.TrafficManager = &iptables.IPTablesManager{}, &nftables.NFTablesManager{}
	if config.EnableNFTables {
		wanted, other = other, wanted
	}
	if err := other.CleanUp(ctx); err != nil {
		return fmt.Errorf("remove the rules of an earlier configuration: %w", err)
	}
	if err := wanted.Init(ctx); err != nil {
		return err
	}
	if o.ipMasq {
		before := writtenBefore(o.subnetFile)
		if err := wanted.SetupAndEnsureMasqRules(ctx, config.Network, before.subnet, before.network,
			config.IPv6Network, before.subnet6, before.network6, leased, o.resyncSeconds, o.ipMasqNotFullyRandom); err != nil {
			return fmt.Errorf("masquerade: %w", err)
		}
	}
	if o.forwardRules {
		wanted.SetupAndEnsureForwardRules(ctx, config.Network, config.IPv6Network, o.resyncSeconds)
	}
	return nil
}

// ranges are what an earlier daemon has made rules for. Its zero value means that there was
// none.
type ranges struct {
	network, subnet   ip.IP4Net
	network6, subnet6 ip.IP6Net
}

// writtenBefore reads the file that an earlier daemon has written for the CNI plugin. Without
// one, or with a broken one, no rules are replaced.
func writtenBefore(path string) ranges {
	// flannel's packages call methods of the addresses in ranges of IPv6, also in empty ones.
	before := ranges{network6: ip.IP6Net{IP: &ip.IP6{}}, subnet6: ip.IP6Net{IP: &ip.IP6{}}}
	file, err := subnetenv.Read(path)
	if err != nil {
		klog.Infof("no ranges of an earlier daemon: %v", err)
		return before
	}
	for _, family := range file.Families {
		if family.Subnet.Addr().Is4() {
			before.network, before.subnet = ip.FromIPNet(ipNet(family.Network)), ip.FromIPNet(ipNet(family.Subnet))
		} else {
			before.network6, before.subnet6 = ip.FromIP6Net(ipNet(family.Network)), ip.FromIP6Net(ipNet(family.Subnet))
		}
	}
	return before
}

// ipNet returns a range with its first address.
func ipNet(prefix netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: prefix.Masked().Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}
}
