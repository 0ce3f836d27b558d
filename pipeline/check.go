// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

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
	if request.Author == AuthorShoot {
		networking := field.NewPath("spec", "networking")
		return paths{
			networkType: networking.Child("type"), config: networking.Child("providerConfig"),
			pods: networking.Child("pods"), services: networking.Child("services"), nodes: networking.Child("nodes"),
			families: networking.Child("ipFamilies"),
		}
	}
	spec := field.NewPath("spec")
	pods := "podCIDR"
	if request.Spec.PodCIDR == "" && request.Spec.ClusterCIDR != "" {
		pods = "clusterCIDR"
	}
	return paths{
		networkType: spec.Child("type"), config: spec.Child("providerConfig"),
		pods: spec.Child(pods), services: spec.Child("serviceCIDR"), nodes: field.NewPath("shoot", "spec", "networking", "nodes"),
		families: spec.Child("ipFamilies"),
	}
}

// checkNetwork applies the rules of Gardener's validation of Networks, finds the
// plugin, and completes the facts with what the spec states.
func (b *build) checkNetwork() {
	b.checkType()
	familiesFine := b.checkFamilies()
	spec := &b.request.Spec
	if spec.PodCIDR != "" && spec.ClusterCIDR != "" && spec.PodCIDR != spec.ClusterCIDR {
		b.wrong(field.Invalid(field.NewPath("spec", "clusterCIDR"), spec.ClusterCIDR,
			fmt.Sprintf("is another spelling of podCIDR, which says %s; leave one of them out", spec.PodCIDR)))
	}
	b.in.PodCIDR, b.in.ServiceCIDR = spec.EffectivePodCIDR(), spec.ServiceCIDR
	pods, podsFine := b.checkCIDR(b.paths.pods, b.in.PodCIDR)
	services, servicesFine := b.checkCIDR(b.paths.services, b.in.ServiceCIDR)
	var nodes netip.Prefix // of none, which overlaps with nothing
	if b.in.NodeCIDR != "" {
		nodes, _ = b.checkCIDR(b.paths.nodes, b.in.NodeCIDR)
	}
	if familiesFine && podsFine && servicesFine {
		b.checkRanges(pods, services, nodes)
	}
	b.checkShoot()
}

// checkShoot judges what the Shoot tells, by the fields where it does.
func (b *build) checkShoot() {
	modes := []corev1beta1.ProxyMode{corev1beta1.ProxyModeIPTables, corev1beta1.ProxyModeIPVS, corev1beta1.ProxyModeNFTables}
	if mode := b.in.KubeProxy.Mode; mode != "" && !slices.Contains(modes, mode) {
		b.wrong(field.NotSupported(field.NewPath(string(plugin.FactKubeProxyMode)), mode, modes))
	}
	for _, reported := range []struct {
		fact   plugin.Fact
		ranges []string
	}{{plugin.FactPodRanges, b.in.PodCIDRs}, {plugin.FactServiceRanges, b.in.ServiceCIDRs}, {plugin.FactNodeRanges, b.in.NodeCIDRs}} {
		for i, cidr := range reported.ranges {
			if _, err := netip.ParsePrefix(cidr); err != nil {
				b.wrong(field.Invalid(field.NewPath(string(reported.fact)).Index(i), cidr, "must be an IP range such as 10.250.0.0/16"))
			}
		}
	}
}

func (b *build) wrong(err *field.Error) { b.result.Errors = append(b.result.Errors, err) }

func (b *build) checkType() {
	networkType := b.request.Spec.Type
	found, ok := b.pipeline.plugins[networkType]
	switch {
	case networkType == "":
		b.wrong(field.Required(b.paths.networkType, "name the network plugin; there are "+strings.Join(b.pipeline.Types(), ", ")))
	case !ok:
		b.wrong(field.NotSupported(b.paths.networkType, networkType, b.pipeline.Types()))
	}
	b.plugin = found
}

func (b *build) checkFamilies() bool {
	before := len(b.result.Errors)
	wanted := b.request.Spec.IPFamilies
	seen := map[extensionsv1alpha1.IPFamily]bool{}
	for i, family := range wanted {
		switch {
		case family != extensionsv1alpha1.IPv4 && family != extensionsv1alpha1.IPv6:
			b.wrong(field.NotSupported(b.paths.families.Index(i), family,
				[]extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6}))
		case seen[family]:
			b.wrong(field.Duplicate(b.paths.families.Index(i), family))
		}
		seen[family] = true
	}
	if len(b.result.Errors) == before && b.plugin.Type != "" && !b.plugin.IPFamilies.Supports(wanted) {
		b.wrong(field.Invalid(b.paths.families, wanted,
			fmt.Sprintf("the %s plugin serves %s", b.plugin.Type, b.plugin.IPFamilies)))
	}
	return len(b.result.Errors) == before
}

func (b *build) checkCIDR(path *field.Path, cidr string) (netip.Prefix, bool) {
	if cidr == "" {
		b.wrong(field.Required(path, "an IP range such as 100.96.0.0/11"))
		return netip.Prefix{}, false
	}
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		b.wrong(field.Invalid(path, cidr, "must be an IP range such as 100.96.0.0/11"))
		return netip.Prefix{}, false
	}
	if prefix != prefix.Masked() {
		b.wrong(field.Invalid(path, cidr, fmt.Sprintf("must begin with the first address of the range: %s", prefix.Masked())))
	}
	return prefix.Masked(), true
}

// checkRanges checks families and overlaps of ranges that are well-formed.
func (b *build) checkRanges(pods, services, nodes netip.Prefix) {
	if wanted := b.request.Spec.IPFamilies; len(wanted) < 2 {
		ipv6 := len(wanted) == 1 && wanted[0] == extensionsv1alpha1.IPv6
		b.checkFamilyOf(b.paths.pods, pods, ipv6)
		b.checkFamilyOf(b.paths.services, services, ipv6)
	}
	b.checkOverlaps(
		b.allRanges(b.paths.pods, pods, plugin.FactPodRanges, b.in.PodCIDRs),
		b.allRanges(b.paths.services, services, plugin.FactServiceRanges, b.in.ServiceCIDRs),
		b.allRanges(b.paths.nodes, nodes, plugin.FactNodeRanges, b.in.NodeCIDRs))
}

// addressRange is a range of addresses, and where it stands.
type addressRange struct {
	path   *field.Path
	prefix netip.Prefix
	// made reports that the infrastructure has made it, and not the user.
	made bool
}

// allRanges are the ranges of one kind: the one that is written, and those of the
// network's families that the Shoot's status reports, where it stands again.
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

// checkOverlaps finds addresses that two could have.
func (b *build) checkOverlaps(pods, services, nodes []addressRange) {
	for _, one := range services {
		b.mustBeApart(one, "pods", pods)
	}
	for _, one := range nodes {
		other, overlaps := overlapping(one, pods)
		if overlaps && one.made && other.made && one.prefix == other.prefix {
			continue // gives addresses to nodes and pods alike
		}
		if overlaps { // as where pods get addresses of the nodes' own network
			b.warn(one.path, fmt.Sprintf("%s overlaps with the pods' range %s: a pod's address may be a node's as well, unless something keeps them apart; give each a range of its own",
				one.prefix, other.prefix))
		}
		b.mustBeApart(one, "Services", services)
	}
}

// mustBeApart refuses a range that overlaps with one of the others. Where it is the
// infrastructure that made both, it only warns: there are some that set aside a part of
// the pods' IPv6 range for Services.
func (b *build) mustBeApart(one addressRange, whose string, others []addressRange) {
	other, overlaps := overlapping(one, others)
	switch {
	case !overlaps:
	case one.made && other.made:
		b.warn(one.path, fmt.Sprintf("%s overlaps with the %s' range %s: the infrastructure, which made both, must keep their addresses apart",
			one.prefix, whose, other.prefix))
	default:
		b.wrong(field.Invalid(one.path, one.prefix.String(), fmt.Sprintf("overlaps with the %s' range %s", whose, other.prefix)))
	}
}

// overlapping is the first of the others that a range overlaps with. Ranges of
// different families never do.
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

func (b *build) warn(path *field.Path, message string) {
	b.result.Warnings = append(b.result.Warnings, plugin.Warning{Field: path.String(), Message: message})
}

func (b *build) checkFamilyOf(path *field.Path, prefix netip.Prefix, ipv6 bool) {
	if prefix.Addr().Is6() == ipv6 {
		return
	}
	family := extensionsv1alpha1.IPv4
	if ipv6 {
		family = extensionsv1alpha1.IPv6
	}
	b.wrong(field.Invalid(path, prefix.String(), fmt.Sprintf("must be an %s range, since %s lists no other family", family, b.paths.families)))
}
