// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"fmt"
	"math/bits"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
)

// defaultNodeMask is the prefix length of each node's IPv4 range if the Shoot states none
// (Gardener's contract).
const defaultNodeMask = 24

// longestNodeMask is that of the smallest IPv4 range with an address for a pod: the network, the
// gateway and broadcasts take three (CNI's host-local refuses a smaller one).
const longestNodeMask = 30

var nodeMaskPath = field.NewPath("spec", "kubernetes", "kubeControllerManager", "nodeCIDRMaskSize")

// checkRoom checks that each node that the workers can grow to gets a range of the pods' IPv4
// ranges: a node without one never becomes ready. It refuses a cluster that is not made yet, and
// warns of one that exists.
func (a *addresses) checkRoom(pods []addressRange) {
	mask := nodeMask(&a.in.Facts)
	ofIPv4, room := addressRange{}, 0
	for _, each := range pods {
		if familyOf(each.prefix) != extensionsv1alpha1.IPv4 {
			continue
		}
		if !ofIPv4.prefix.IsValid() {
			ofIPv4 = each
		}
		if more := mask - each.prefix.Bits(); more >= 0 {
			room += 1 << min(more, 30)
		}
	}
	most := int(a.in.NodesAtMost)
	inSurge := most + int(a.in.NodesInSurge)
	switch {
	case !ofIPv4.prefix.IsValid():
	case mask < 1 || mask > longestNodeMask:
		a.refuseOrWarn(field.Invalid(nodeMaskPath, mask, "must be from 1 to 30: it is the prefix length of each node's IPv4 range of pods, and a smaller range has no address for a pod; leave it out for 24, or write a longer one for more nodes"))
	case ofIPv4.prefix.Bits() > longestNodeMask && most > 0:
		a.tooManyNodes(most, field.Invalid(ofIPv4.path, ofIPv4.prefix.String(), fmt.Sprintf("has no address for a pod; state a larger range%s", largeEnough(mask, most))))
	case room == 0 && most > 0:
		a.tooManyNodes(most, field.Invalid(ofIPv4.path, ofIPv4.prefix.String(), fmt.Sprintf(
			"has no room for a node, since each gets a /%d; state a larger range%s, or a greater number as nodeCIDRMaskSize", mask, largeEnough(mask, most))))
	case most == 0 && room < 2:
		a.Warn(ofIPv4.path, fmt.Sprintf("%s has room for %s, of which each gets a /%d unless the Shoot's nodeCIDRMaskSize says otherwise; state a larger range for more",
			ofIPv4.prefix, nodes(room), mask))
	case most > room:
		a.tooManyNodes(most-room, field.Invalid(ofIPv4.path, ofIPv4.prefix.String(), fmt.Sprintf(
			"has room for %s, of which each gets a /%d, and the workers can grow to %d; state a larger range%s or, where it cannot change, let the workers grow to %d at most",
			nodes(room), mask, most, largeEnough(mask, most), room)))
	case inSurge > room:
		a.Warn(ofIPv4.path, fmt.Sprintf("%s has room for %s, of which each gets a /%d, and there may be %d while the workers are replaced; those without a range hold that up; lower the workers' maxSurge or maximum or, in a new cluster, state a larger range%s",
			ofIPv4.prefix, nodes(room), mask, inSurge, largeEnough(mask, inSurge)))
	}
}

// defaultNodeMaskIPv6 is the prefix length of each node's IPv6 range if the Shoot states none
// (Gardener's contract).
const defaultNodeMaskIPv6 = 64

// checkRoomIPv6 warns of an IPv6 range of pods that is too small for the nodes. Infrastructures divide
// those that they make in their own ways, and so may the Shoot.
func (a *addresses) checkRoomIPv6(pods []addressRange) {
	most := int(cmp.Or(a.in.NodesAtMost, 2))
	for _, each := range pods {
		if familyOf(each.prefix) != extensionsv1alpha1.IPv6 || each.made {
			continue
		}
		room := 0
		if more := defaultNodeMaskIPv6 - each.prefix.Bits(); more >= 0 {
			room = 1 << min(more, 31)
		}
		if most > room {
			a.Warn(each.path, fmt.Sprintf("%s has room for %s, of which each gets a /%d unless the Shoot's nodeCIDRMaskSizeIPv6 says otherwise; give a new cluster a larger range for more",
				each.prefix, nodes(room), defaultNodeMaskIPv6))
		}
	}
}

// leastServices is how many addresses kube-apiserver needs in the Services' range: with fewer it does
// not start.
const leastServices = 8

// checkRoomForServices refuses a range of Services that is too small, in a cluster that is not made yet.
func (a *addresses) checkRoomForServices(services netip.Prefix) {
	if services.Addr().BitLen()-services.Bits() < bits.Len(leastServices-1) {
		a.refuseOrWarn(field.Invalid(a.paths.services, services.String(), fmt.Sprintf(
			"has fewer than the %d addresses without which kube-apiserver does not start; give a new cluster a larger range such as a /%d",
			leastServices, services.Addr().BitLen()-12)))
	}
}

// shortestPrefix is that of the largest range of private addresses, 10.0.0.0/8.
const shortestPrefix = 8

// largeEnough returns " such as a /22" for the prefix length that has room for a number of nodes;
// nothing if no range of private addresses has.
func largeEnough(mask, nodes int) string {
	if prefix := mask - bits.Len(uint(nodes-1)); prefix >= shortestPrefix {
		return fmt.Sprintf(" such as a /%d", prefix)
	}
	return ""
}

// nodeMask returns the prefix length of each node's IPv4 range.
func nodeMask(facts *plugin.Facts) int { return int(cmp.Or(facts.NodeCIDRMaskSize, defaultNodeMask)) }

// hasRoom reports whether a range of pods is of IPv4 and has a range of that prefix length for a node.
func hasRoom(pods string, mask int) bool {
	prefix, err := netip.ParsePrefix(pods)
	return err == nil && prefix.Addr().Is4() && prefix.Bits() <= mask && mask <= prefix.Addr().BitLen()
}

func nodes(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}

// tooManyNodes reports that some nodes get no range.
func (a *addresses) tooManyNodes(without int, err *field.Error) {
	if !a.in.Planned {
		a.refuseOrWarn(err)
		return
	}
	a.ErrorBy(plugin.Extent{Rule: "room for nodes", By: int64(without)}, err)
}

// refuseOrWarn refuses what can still be mended, and warns of it in a cluster that exists.
func (a *addresses) refuseOrWarn(err *field.Error) {
	if a.in.Planned {
		a.Error(err)
		return
	}
	a.Warn(field.NewPath(err.Field), err.ErrorBody())
}
