// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// ValidateEffective checks what is in force.
func (definition) ValidateEffective(effective, written *v1alpha1.NetworkConfig, in *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	validateKubeProxy(&found, effective, in)
	validateAddresses(&found, effective, in, path)
	warnFewRights(&found, effective, in)
	w := warner{plugin.Warner{Found: &found, Path: path}}
	w.vxlanOverlay(effective, written, in)
	w.vxlanPool(effective, written, in)
	w.encapsulation(effective)
	w.ipv6(effective, in)
	w.addresses(effective, in)
	w.helpers(effective, in)
	return found
}

// validateKubeProxy makes sure that kube-proxy or Calico's eBPF dataplane implements
// Services. The paths are the Shoot's, wherever the config was written. Gardener's API server
// states the mode IPTables in a Shoot that has none, also without kube-proxy, so it says nothing.
func validateKubeProxy(found *plugin.Findings, effective *v1alpha1.NetworkConfig, in *plugin.Input) {
	proxy := field.NewPath("spec", "kubernetes", "kubeProxy")
	switch {
	case in.KubeProxy.Enabled:
	case !effective.EBPFDataplane.Enabled:
		found.Error(field.Forbidden(proxy.Child("enabled"),
			"without kube-proxy nothing implements Services, unless ebpfDataplane.enabled of the network's providerConfig is true; switch one of them on"))
	case in.KubeProxy.Mode != "" && in.KubeProxy.Mode != corev1beta1.ProxyModeIPTables:
		found.Error(field.Forbidden(proxy.Child("mode"), "must not be set when kube-proxy is disabled; leave it out"))
	}
}

// validateAddresses refuses addresses to which the infrastructure's routes do not lead, where the
// network relies on these.
func validateAddresses(found *plugin.Findings, effective *v1alpha1.NetworkConfig, in *plugin.Input, path *field.Path) {
	if !straysFromRoutes(effective, in) {
		return
	}
	other := ""
	if !hasIPv6(effective) && !in.Infrastructure.NoIPIP {
		other = ", or write overlay.enabled: true"
	}
	found.Error(field.Forbidden(path.Child("ipam", "type"), fmt.Sprintf(
		"pods on different nodes would not reach each other: the routes that %s makes lead to the nodes' own pod ranges, and calico-ipam gives pods other addresses; in a new network leave ipam.type and vxlan out"+other,
		cmp.Or(in.Infrastructure.PodRouter, "the infrastructure"))))
}

// straysFromRoutes reports whether the network relies on routes that lead to the nodes' own pod
// ranges, and gives pods addresses outside of these.
func straysFromRoutes(effective *v1alpha1.NetworkConfig, in *plugin.Input) bool {
	return reliesOnCloud(effective, in) && !usesHostLocal(effective)
}

// reliesOnCloud reports whether the network relies on routes of the infrastructure, and that makes
// them.
func reliesOnCloud(effective *v1alpha1.NetworkConfig, in *plugin.Input) bool {
	return in.Infrastructure.PodRoutes && definition{}.DescribeDataPath(effective).NeedsRoutes()
}

// warnFewRights names the operator's feature gate, which users cannot change, since they see its
// effect. The facts are those of tigera/operator#4433.
func warnFewRights(found *plugin.Findings, effective *v1alpha1.NetworkConfig, in *plugin.Input) {
	plugin.Warner{Found: found}.WarnIf(!isPrivileged(effective, in), "featureGates."+nonPrivilegedGate,
		"Calico no longer supports a calico-node with few rights: the iptables of its image refuses to run for a set-uid program, so calico-node may not become ready; the operator should switch the feature gate off")
}

// vxlanOverlay warns users who asked for an overlay, but not for VXLAN, that they get
// VXLAN, and those of a new Shoot if Gardener's provider extension refuses it (Gardener's contract).
func (w warner) vxlanOverlay(effective, written *v1alpha1.NetworkConfig, in *plugin.Input) {
	asked := written.VXLAN != nil && written.VXLAN.Enabled
	w.WarnIf(in.Infrastructure.NoIPIP && vxlanOverlay(effective) && !asked, "overlay.enabled", fmt.Sprintf(
		"IP-in-IP is not available on %s, so the overlay uses VXLAN; and VXLAN needs calico-ipam",
		cmp.Or(in.Infrastructure.Type, "this infrastructure")))
	w.WarnIf(in.Planned && refusesOverlay(in) && overlayOn(effective), "overlay.enabled", fmt.Sprintf(
		"Gardener's extension for %s refuses a Shoot with an overlay of Calico; in a new network leave overlay, vxlan and ipam.type out",
		in.Infrastructure.Type))
}

// refusesOverlay reports whether Gardener's provider extension refuses an overlay of Calico.
func refusesOverlay(in *plugin.Input) bool {
	return slices.Contains(in.Infrastructure.RefusesOverlay, Type)
}

// vxlanPool warns users who wrote ipv4.pool: vxlan that nothing is encapsulated,
// unless they wrote so themselves or a warning at vxlan.enabled tells them.
func (w warner) vxlanPool(effective, written *v1alpha1.NetworkConfig, in *plugin.Input) {
	forbidden := written.IPv4 != nil && written.IPv4.Mode != nil && !encapsulates(*written.IPv4.Mode)
	if effective.VXLAN.Enabled || !poolIs(effective, v1alpha1.PoolVXLAN) || forbidden {
		return
	}
	const none = "packets are still not encapsulated, since ipv4.mode is Never with backend none; leave it out"
	byNone := effective.Overlay == nil && hasBackend(effective, v1alpha1.None) && !encapsulates(*effective.IPv4.Mode)
	w.WarnIf(overlayOff(effective), "ipv4.pool", "packets are still not encapsulated, since overlay.enabled is false; leave it out")
	overlay := !hasIPv6(effective) && !refusesOverlay(in)
	w.WarnIf(byNone && !overlay, "ipv4.pool", none)
	w.WarnIf(byNone && overlay, "ipv4.pool", none+", or in a new network "+forVXLAN)
}
