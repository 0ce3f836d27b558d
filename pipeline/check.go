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
	of := addresses{Findings: &b.Findings, in: &b.in, paths: &b.paths, families: spec.IPFamilies,
		mayBeReported: b.in.Planned && b.request.Author == AuthorShoot}
	of.check(familiesFine)
	b.checkShoot()
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
