// SPDX-License-Identifier: Apache-2.0

package options

import (
	"net/netip"
	"strings"

	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
)

const (
	// DefaultPodCIDR and DefaultServiceCIDR are Gardener's own defaults.
	DefaultPodCIDR     = "100.96.0.0/11"
	DefaultServiceCIDR = "100.64.0.0/13"
	// NodeCIDR is the range of the nodes' addresses in every shoot.
	NodeCIDR = plan.IPv4Nodes
	// NodeMaskSize is the size of the pod range that each node gets.
	NodeMaskSize = 24

	// IPv6PodCIDR and IPv6ServiceCIDR are the ranges of shoots with IPv6. Each node gets a
	// range of IPv6NodeMaskSize.
	IPv6PodCIDR      = "fd00:10:96::/56"
	IPv6ServiceCIDR  = "fd00:10:64::/112"
	IPv6NodeMaskSize = 64
)

// The widest and narrowest ranges that Kubernetes accepts. The
// controller-manager splits a range by at most 16 bits into the ranges of nodes.
// The API server accepts from 3 to 20 bits of service addresses.
const (
	minPodBits, maxPodBits         = NodeMaskSize - 16, NodeMaskSize
	minServiceBits, maxServiceBits = 32 - 20, 29
)

// Network holds the address ranges of a shoot, one of each IP family. The first is that of
// the primary family.
type Network struct {
	Pods     []netip.Prefix
	Services []netip.Prefix
}

// APIServerIP is the address of the kubernetes Service: the first of the range.
func (n Network) APIServerIP() netip.Addr { return n.Services[0].Addr().Next() }

// ClusterDNS are the addresses of the Service of a shoot's DNS: the tenth of each range.
func (n Network) ClusterDNS() []netip.Addr {
	const tenth = 10
	var all []netip.Addr
	for _, services := range n.Services {
		address := services.Addr()
		for range tenth {
			address = address.Next()
		}
		all = append(all, address)
	}
	return all
}

// Join writes ranges as flags have them.
func Join(ranges []netip.Prefix) string {
	var texts []string
	for _, prefix := range ranges {
		texts = append(texts, prefix.String())
	}
	return strings.Join(texts, ",")
}

// withFamilies returns the network with ranges of the families of real nodes.
func (n Network) withFamilies(layout plan.Layout) Network {
	pods, services := netip.MustParsePrefix(IPv6PodCIDR), netip.MustParsePrefix(IPv6ServiceCIDR)
	switch {
	case !layout.IPv6:
		return n
	case !layout.IPv4:
		return Network{Pods: []netip.Prefix{pods}, Services: []netip.Prefix{services}}
	case layout.IPv6First:
		return Network{Pods: append([]netip.Prefix{pods}, n.Pods...), Services: append([]netip.Prefix{services}, n.Services...)}
	}
	return Network{Pods: append(n.Pods, pods), Services: append(n.Services, services)}
}

// NodeIP is the address of the node with this index. The first index is 0.
func NodeIP(index int) netip.Addr {
	ip := netip.MustParsePrefix(NodeCIDR).Addr().Next()
	for range index {
		ip = ip.Next()
	}
	return ip
}

func parseNetwork(pods, services string) (Network, []error) {
	podRange, podErr := parseRange("--pod-cidr", pods, minPodBits, maxPodBits)
	serviceRange, serviceErr := parseRange("--service-cidr", services, minServiceBits, maxServiceBits)
	if errs := compact(podErr, serviceErr); len(errs) > 0 {
		return Network{}, errs
	}

	var errs []error
	nodeRange := netip.MustParsePrefix(NodeCIDR)
	for _, pair := range []struct {
		name, otherName string
		one, other      netip.Prefix
	}{
		{"--pod-cidr", "--service-cidr", podRange, serviceRange},
		{"--pod-cidr", "the nodes' range", podRange, nodeRange},
		{"--service-cidr", "the nodes' range", serviceRange, nodeRange},
	} {
		if pair.one.Overlaps(pair.other) {
			errs = append(errs, Invalidf("%s %s overlaps with %s %s; choose ranges that have no address in common", pair.name, pair.one, pair.otherName, pair.other))
		}
	}
	return Network{Pods: []netip.Prefix{podRange}, Services: []netip.Prefix{serviceRange}}, errs
}

// checkRoom rejects more nodes than the pod range has node ranges.
func (n Network) checkRoom(nodes int) error {
	room := 1 << (NodeMaskSize - n.Pods[0].Bits())
	if nodes > room {
		return Invalidf("--pod-cidr %s has room for %d nodes with a /%d each, but a shoot has %d; use a wider range or fewer nodes", n.Pods[0], room, NodeMaskSize, nodes)
	}
	return nil
}

func parseRange(flag, text string, minBits, maxBits int) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return prefix, Invalidf("%s %q is not a range of addresses; write it like 10.0.0.0/16", flag, text)
	case !prefix.Addr().Is4():
		return prefix, Invalidf("%s %s is not IPv4; IPv6 needs real nodes, and has ranges of its own (--ip-families)", flag, text)
	case prefix != prefix.Masked():
		return prefix, Invalidf("%s %s names an address within a range; the range is %s", flag, text, prefix.Masked())
	case prefix.Bits() < minBits || prefix.Bits() > maxBits:
		return prefix, Invalidf("%s %s: the mask must be from /%d to /%d", flag, text, minBits, maxBits)
	}
	return prefix, nil
}

func compact(errs ...error) []error {
	var found []error
	for _, err := range errs {
		if err != nil {
			found = append(found, err)
		}
	}
	return found
}
