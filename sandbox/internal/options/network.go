// SPDX-License-Identifier: Apache-2.0

package options

import (
	"net/netip"
)

const (
	// DefaultPodCIDR and DefaultServiceCIDR are Gardener's own defaults.
	DefaultPodCIDR     = "100.96.0.0/11"
	DefaultServiceCIDR = "100.64.0.0/13"
	// NodeCIDR is the range of the nodes' addresses in every shoot.
	NodeCIDR = "10.250.0.0/16"
	// NodeMaskSize is the size of the pod range that each node gets.
	NodeMaskSize = 24
)

// The widest and narrowest ranges that Kubernetes accepts. The
// controller-manager splits a range by at most 16 bits into the ranges of nodes.
// The API server accepts from 3 to 20 bits of service addresses.
const (
	minPodBits, maxPodBits         = NodeMaskSize - 16, NodeMaskSize
	minServiceBits, maxServiceBits = 32 - 20, 29
)

// Network holds the address ranges of a shoot.
type Network struct {
	Pods     netip.Prefix
	Services netip.Prefix
}

// APIServerIP is the address of the kubernetes Service: the first of the range.
func (n Network) APIServerIP() netip.Addr { return n.Services.Addr().Next() }

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
	return Network{Pods: podRange, Services: serviceRange}, errs
}

// checkRoom rejects more nodes than the pod range has node ranges.
func (n Network) checkRoom(nodes int) error {
	room := 1 << (NodeMaskSize - n.Pods.Bits())
	if nodes > room {
		return Invalidf("--pod-cidr %s has room for %d nodes with a /%d each, but --nodes is %d; use a wider range or fewer nodes", n.Pods, room, NodeMaskSize, nodes)
	}
	return nil
}

func parseRange(flag, text string, minBits, maxBits int) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return prefix, Invalidf("%s %q is not a range of addresses; write it like 10.0.0.0/16", flag, text)
	case !prefix.Addr().Is4():
		return prefix, Invalidf("%s %s is not IPv4; the sandbox's clusters are IPv4 only", flag, text)
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
