// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
)

// paths are the field paths of a Request in its author's terms.
type paths struct {
	networkType, config, pods, services, nodes, families *field.Path
}

func pathsOf(request *Request) paths {
	spec := field.NewPath("spec")
	networking := spec.Child("networking")
	if request.Author != AuthorNetwork {
		config := networking.Child("providerConfig")
		if request.Author == AuthorConfig {
			config = field.NewPath("providerConfig")
		}
		return paths{
			networkType: networking.Child("type"), config: config, families: networking.Child("ipFamilies"),
			pods: networking.Child("pods"), services: networking.Child("services"), nodes: networking.Child("nodes"),
		}
	}
	pods := spec.Child("podCIDR")
	if request.Spec.PodCIDR == "" && request.Spec.ClusterCIDR != "" {
		pods = spec.Child("clusterCIDR")
	}
	return paths{
		networkType: spec.Child("type"), config: spec.Child("providerConfig"), families: spec.Child("ipFamilies"),
		pods: pods, services: spec.Child("serviceCIDR"), nodes: field.NewPath("shoot", "spec", "networking", "nodes"),
	}
}

// checkNetwork applies the rules of Gardener's validation of Networks, and checks what the
// Shoot states of the cluster.
func (b *build) checkNetwork() {
	spec := &b.request.Spec
	familiesFine := b.checkFamilies(spec.IPFamilies)
	if spec.PodCIDR != "" && spec.ClusterCIDR != "" && spec.PodCIDR != spec.ClusterCIDR {
		b.Error(field.Invalid(field.NewPath("spec", "clusterCIDR"), spec.ClusterCIDR,
			fmt.Sprintf("is another spelling of podCIDR, which says %s; leave one of them out", spec.PodCIDR)))
	}
	example := exampleRanges[primaryFamily(spec.IPFamilies)]
	pods, services := b.parse(b.paths.pods, b.in.PodCIDR, example.pods), b.parse(b.paths.services, b.in.ServiceCIDR, example.services)
	var nodes netip.Prefix // the invalid one overlaps with nothing
	if b.in.NodeCIDR != "" {
		nodes = b.parse(b.paths.nodes, b.in.NodeCIDR, example.nodes)
	}
	if familiesFine && pods.IsValid() && services.IsValid() {
		b.checkRanges(pods, services, nodes)
	}
	b.checkShoot()
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

// checkShoot checks what the Shoot states. Its errors have the paths of the Shoot's fields.
func (b *build) checkShoot() {
	modes := []corev1beta1.ProxyMode{corev1beta1.ProxyModeIPTables, corev1beta1.ProxyModeIPVS, corev1beta1.ProxyModeNFTables}
	if mode := b.in.KubeProxy.Mode; mode != "" && !slices.Contains(modes, mode) {
		b.Error(field.NotSupported(field.NewPath(string(plugin.FactKubeProxyMode)), mode, modes))
	}
	for _, reported := range []struct {
		fact   plugin.Fact
		ranges []string
	}{{plugin.FactPodRanges, b.in.PodCIDRs}, {plugin.FactServiceRanges, b.in.ServiceCIDRs}, {plugin.FactNodeRanges, b.in.NodeCIDRs}} {
		for i, cidr := range reported.ranges {
			if _, err := netip.ParsePrefix(cidr); err != nil {
				b.Error(field.Invalid(field.NewPath(string(reported.fact)).Index(i), cidr, "must be an IP range such as 10.250.0.0/16; correct what reports it in the Shoot's status"))
			}
		}
	}
}

// checkFamilies reports whether the plugin can serve the families.
func (b *build) checkFamilies(families []extensionsv1alpha1.IPFamily) bool {
	before := len(b.Errors)
	allowed := []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6}
	for i, family := range families {
		switch {
		case !slices.Contains(allowed, family):
			b.Error(field.NotSupported(b.paths.families.Index(i), family, allowed))
		case slices.Contains(families[:i], family):
			b.Error(field.Duplicate(b.paths.families.Index(i), family))
		}
	}
	if p := &b.plugin; len(b.Errors) == before && p.Type != "" && !p.IPFamilies.Supports(families) {
		b.Error(field.Invalid(b.paths.families, families, fmt.Sprintf("the %s plugin serves %s", p.Type, p.IPFamilies)))
	}
	return len(b.Errors) == before
}

// parse returns an invalid Prefix if the range is malformed.
func (b *build) parse(path *field.Path, cidr, example string) netip.Prefix {
	prefix, err := netip.ParsePrefix(cidr)
	switch {
	case cidr == "":
		b.Error(field.Required(path, "write an IP range such as "+example))
	case err != nil:
		b.Error(field.Invalid(path, cidr, "is no IP range; write one such as "+example))
	case prefix != prefix.Masked():
		b.Error(field.Invalid(path, cidr, fmt.Sprintf("must begin with the first address of the range; write %s", prefix.Masked())))
	}
	return prefix.Masked()
}

// checkRanges checks families and overlaps of ranges that are well-formed.
func (b *build) checkRanges(pods, services, nodes netip.Prefix) {
	wanted := b.request.Spec.IPFamilies
	primary := primaryFamily(wanted)
	example := exampleRanges[primary]
	mustHaveFamily := func(report func(*field.Error), path *field.Path, prefix netip.Prefix, example string) {
		if family := familyOf(prefix); family != primary && !slices.Contains(wanted, family) {
			report(field.Invalid(path, prefix.String(), fmt.Sprintf(
				"must be an %s range, since %s lists no other family; write one such as %s", primary, b.paths.families, example)))
		}
	}
	mustHaveFamily(b.Error, b.paths.pods, pods, example.pods)
	mustHaveFamily(b.Error, b.paths.services, services, example.services)
	if nodes.IsValid() { // the nodes of a cluster that exists have addresses whatever it says
		mustHaveFamily(b.refuseOrWarn, b.paths.nodes, nodes, example.nodes)
	}
	b.checkUsable(addressRange{path: b.paths.pods, prefix: pods}, addressRange{path: b.paths.services, prefix: services},
		addressRange{path: b.paths.nodes, prefix: nodes})
	ofPods := b.allRanges(b.paths.pods, pods, plugin.FactPodRanges, b.in.PodCIDRs)
	b.checkRoom(ofPods)
	b.checkOverlaps(
		ofPods,
		b.allRanges(b.paths.services, services, plugin.FactServiceRanges, b.in.ServiceCIDRs),
		b.allRanges(b.paths.nodes, nodes, plugin.FactNodeRanges, b.in.NodeCIDRs))
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
func (b *build) allRanges(path *field.Path, written netip.Prefix, fact plugin.Fact, reported []string) []addressRange {
	var ranges []addressRange
	if written.IsValid() {
		ranges = append(ranges, addressRange{path: path, prefix: written})
	}
	for i, cidr := range reported {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil || !b.in.WantsIPFamily(familyOf(prefix)) {
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
func (b *build) checkOverlaps(pods, services, nodes []addressRange) {
	for _, one := range services {
		b.mustBeApart(one, "pods", pods)
	}
	for _, one := range nodes {
		other, overlaps := overlapping(one, pods)
		if overlaps && one.made && other.made && one.prefix == other.prefix {
			continue // an infrastructure that gives nodes and pods addresses of one range
		}
		const both = "overlaps with the pods' range %s: a pod's address may be a node's as well, unless something keeps them apart; give each a range of its own"
		const existing = both + " in a new cluster"
		switch { // the infrastructure may give pods addresses of the nodes' network
		case overlaps && b.in.Planned && one.prefix.Addr().Is4() && one.path == b.paths.nodes:
			b.Error(field.Invalid(one.path, one.prefix.String(), fmt.Sprintf(both, other.prefix)))
		case overlaps:
			b.Warn(one.path, fmt.Sprintf("%s "+existing, one.prefix, other.prefix))
		}
		b.mustBeApart(one, "Services", services)
	}
}

// mustBeApart refuses a range that overlaps with one of the others. It only warns if the
// infrastructure made both: some reserve a part of the pods' IPv6 range for Services.
func (b *build) mustBeApart(one addressRange, whose string, others []addressRange) {
	other, overlaps := overlapping(one, others)
	switch {
	case !overlaps:
	case one.made && other.made:
		b.Warn(one.path, fmt.Sprintf("%s overlaps with the %s' range %s: the infrastructure, which made both, must keep their addresses apart",
			one.prefix, whose, other.prefix))
	default:
		b.Error(field.Invalid(one.path, one.prefix.String(), fmt.Sprintf("overlaps with the %s' range %s", whose, other.prefix)))
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
