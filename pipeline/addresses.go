// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
)

// addresses checks the ranges of pods, Services and nodes of a Request.
type addresses struct {
	*plugin.Findings
	in    *plugin.Input
	paths *paths
	// families are those that the Request lists.
	families []extensionsv1alpha1.IPFamily
	// mayBeReported reports that ranges which the user leaves out may still become known: IPv6 ranges
	// usually come from the infrastructure, which begins once there is a Shoot (Gardener's contract).
	mayBeReported bool
}

// check checks each range and, if the families can be served, the ranges beside each other.
func (a *addresses) check(familiesFine bool) {
	example := exampleRanges[primaryFamily(a.families)]
	pods, services := a.parse(a.paths.pods, a.in.PodCIDR, example.pods), a.parse(a.paths.services, a.in.ServiceCIDR, example.services)
	var nodes netip.Prefix // the invalid one overlaps with nothing
	if a.in.NodeCIDR != "" {
		nodes = a.parse(a.paths.nodes, a.in.NodeCIDR, example.nodes)
	}
	if familiesFine && pods.IsValid() && services.IsValid() {
		a.checkRanges(pods, services, nodes)
	}
}

// exampleRanges are ranges that messages show. Those of one family go together.
var exampleRanges = map[extensionsv1alpha1.IPFamily]struct{ pods, services, nodes string }{
	extensionsv1alpha1.IPv4: {DefaultPodCIDR, DefaultServiceCIDR, "10.250.0.0/16"},
	extensionsv1alpha1.IPv6: {"2001:db8:1::/48", "2001:db8:2::/108", "2001:db8:3::/64"},
}

// primaryFamily is the first family of a network. One that there is not counts as IPv4.
func primaryFamily(wanted []extensionsv1alpha1.IPFamily) extensionsv1alpha1.IPFamily {
	if len(wanted) > 0 && wanted[0] == extensionsv1alpha1.IPv6 {
		return extensionsv1alpha1.IPv6
	}
	return extensionsv1alpha1.IPv4
}

// parse returns an invalid Prefix if the range is malformed.
func (a *addresses) parse(path *field.Path, cidr, example string) netip.Prefix {
	prefix, err := netip.ParsePrefix(cidr)
	switch {
	case cidr == "" && a.mayBeReported:
		a.Warn(path, "the range is unknown until the infrastructure reports it in the Shoot's status; where none does, write one such as "+example)
	case cidr == "":
		a.Error(field.Required(path, "write an IP range such as "+example))
	case err != nil:
		a.Error(field.Invalid(path, cidr, "is no IP range; write one such as "+example))
	case prefix != prefix.Masked():
		a.Error(field.Invalid(path, cidr, fmt.Sprintf("must begin with the first address of the range; write %s", prefix.Masked())))
	}
	return prefix.Masked()
}

// checkRanges checks families and overlaps of ranges that are well-formed.
func (a *addresses) checkRanges(pods, services, nodes netip.Prefix) {
	primary := primaryFamily(a.families)
	example := exampleRanges[primary]
	mustHaveFamily := func(report func(*field.Error), path *field.Path, prefix netip.Prefix, example string) {
		if family := familyOf(prefix); family != primary && !slices.Contains(a.families, family) {
			report(field.Invalid(path, prefix.String(), fmt.Sprintf(
				"must be an %s range, since %s lists no other family; write one such as %s", primary, a.paths.families, example)))
		}
	}
	mustHaveFamily(a.Error, a.paths.pods, pods, example.pods)
	mustHaveFamily(a.Error, a.paths.services, services, example.services)
	if nodes.IsValid() { // the nodes of a cluster that exists have addresses whatever it says
		mustHaveFamily(a.refuseOrWarn, a.paths.nodes, nodes, example.nodes)
	}
	a.checkUsable(addressRange{path: a.paths.pods, prefix: pods}, addressRange{path: a.paths.services, prefix: services},
		addressRange{path: a.paths.nodes, prefix: nodes})
	ofPods := a.allRanges(a.paths.pods, pods, plugin.FactPodRanges, a.in.PodCIDRs)
	a.checkRoom(ofPods)
	a.checkRoomIPv6(ofPods)
	a.checkRoomForServices(services)
	a.checkOverlaps(
		ofPods,
		a.allRanges(a.paths.services, services, plugin.FactServiceRanges, a.in.ServiceCIDRs),
		a.allRanges(a.paths.nodes, nodes, plugin.FactNodeRanges, a.in.NodeCIDRs))
}

// addressRange is a range of addresses with its field.
type addressRange struct {
	path   *field.Path
	prefix netip.Prefix
	// made reports whether the infrastructure has made it, and not the user.
	made bool
}

// allRanges returns the ranges of one kind: the one in the spec, and those of the network's
// families in the Shoot's status, which also has the one in the spec.
func (a *addresses) allRanges(path *field.Path, written netip.Prefix, fact plugin.Fact, reported []string) []addressRange {
	var ranges []addressRange
	if written.IsValid() {
		ranges = append(ranges, addressRange{path: path, prefix: written})
	}
	for i, cidr := range reported {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil || !a.in.WantsIPFamily(familyOf(prefix)) {
			continue
		}
		prefix = prefix.Masked()
		at := slices.IndexFunc(ranges, func(r addressRange) bool { return r.prefix == prefix })
		if at < 0 {
			at = len(ranges)
			ranges = append(ranges, addressRange{path: field.NewPath(string(fact)).Index(i), prefix: prefix})
		}
		ranges[at].made = prefix.Addr().Is6() // an IPv4 range may be the user's
	}
	return ranges
}

// checkOverlaps finds addresses that could be given twice.
func (a *addresses) checkOverlaps(pods, services, nodes []addressRange) {
	for _, one := range services {
		a.mustBeApart(one, "pods", pods)
	}
	for _, one := range nodes {
		other, overlaps := overlapping(one, pods)
		if overlaps && one.made && other.made && one.prefix == other.prefix {
			continue // an infrastructure that gives nodes and pods addresses of one range
		}
		const both = "overlaps with the pods' range %s: a pod's address may be a node's as well, unless something keeps them apart; give each a range of its own"
		const existing = both + " in a new cluster"
		switch { // the infrastructure may give pods addresses of the nodes' network
		case overlaps && a.in.Planned && one.prefix.Addr().Is4() && one.path == a.paths.nodes:
			a.Error(field.Invalid(one.path, one.prefix.String(), fmt.Sprintf(both, other.prefix)))
		case overlaps:
			a.Warn(one.path, fmt.Sprintf("%s "+existing, one.prefix, other.prefix))
		}
		a.mustBeApart(one, "Services", services)
	}
}

// mustBeApart refuses a range that overlaps with one of the others. It only warns if the
// infrastructure made both: some reserve a part of the pods' IPv6 range for Services.
func (a *addresses) mustBeApart(one addressRange, whose string, others []addressRange) {
	other, overlaps := overlapping(one, others)
	switch {
	case !overlaps:
	case one.made && other.made:
		a.Warn(one.path, fmt.Sprintf("%s overlaps with the %s' range %s: the infrastructure, which made both, must keep their addresses apart",
			one.prefix, whose, other.prefix))
	default:
		a.Error(field.Invalid(one.path, one.prefix.String(), fmt.Sprintf("overlaps with the %s' range %s; give a new cluster ranges that are apart", whose, other.prefix)))
	}
}

// overlapping returns the first of the others, of its family, that a range overlaps with.
func overlapping(one addressRange, others []addressRange) (addressRange, bool) {
	for _, other := range others {
		if one.prefix.Overlaps(other.prefix) {
			return other, true
		}
	}
	return addressRange{}, false
}

func familyOf(prefix netip.Prefix) extensionsv1alpha1.IPFamily {
	if prefix.Addr().Is6() {
		return extensionsv1alpha1.IPv6
	}
	return extensionsv1alpha1.IPv4
}
