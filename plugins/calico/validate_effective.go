// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// validateEffective judges what is in force.
func validateEffective(effective, written *v1alpha1.NetworkConfig, in *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	validateKubeProxy(&found, effective, in)
	warnNodeRange(&found, in)
	warnVXLANOverlay(&found, effective, written, in, path)
	warnVXLANPool(&found, effective, written, path)
	warnings.Warn(&found, effective, in, path)
	return found
}

// validateKubeProxy makes sure that kube-proxy or Calico's eBPF dataplane implements
// Services. The paths are the Shoot's, wherever the config was written.
func validateKubeProxy(found *plugin.Findings, effective *v1alpha1.NetworkConfig, in *plugin.Input) {
	proxy := field.NewPath("spec", "kubernetes", "kubeProxy")
	switch {
	case in.KubeProxy.Enabled:
	case !effective.EBPFDataplane.Enabled:
		found.Error(field.Forbidden(proxy.Child("enabled"),
			"without kube-proxy nothing implements Services, unless ebpfDataplane.enabled of the network's providerConfig is true; switch one of them on"))
	case in.KubeProxy.Mode != "":
		found.Error(field.Forbidden(proxy.Child("mode"), "must not be set when kube-proxy is disabled; leave it out"))
	}
}

// warnNodeRange warns that a network of IPv4 does not use the nodes' IPv6 range. It does
// not warn of one that is on the way to IPv6, which will use it.
func warnNodeRange(found *plugin.Findings, in *plugin.Input) {
	if wantsIPv6(in) || !isIPv6Range(in.NodeCIDR) {
		return
	}
	found.Warn(plugin.At(nil, string(plugin.FactNodeRange)),
		"the nodes' range is of IPv6, and the network has IPv4 only, so neither do nodes find their address by it nor is it kept from being masqueraded; state the nodes' IPv4 range")
}

// warnVXLANOverlay warns users who asked for an overlay, but not for VXLAN, that they get
// VXLAN.
func warnVXLANOverlay(found *plugin.Findings, effective, written *v1alpha1.NetworkConfig, in *plugin.Input, path *field.Path) {
	asked := written.VXLAN != nil && written.VXLAN.Enabled
	if !in.Infrastructure.NoIPIP || !vxlanOverlay(effective) || asked {
		return
	}
	found.Warn(plugin.At(path, "overlay.enabled"), fmt.Sprintf(
		"IP-in-IP is not available on %s, so the overlay uses VXLAN; and VXLAN needs calico-ipam",
		cmp.Or(in.Infrastructure.Type, "this infrastructure")))
}

// warnVXLANPool warns users who wrote ipv4.pool: vxlan that nothing is encapsulated,
// unless they wrote so themselves or a warning at vxlan.enabled tells them.
func warnVXLANPool(found *plugin.Findings, effective, written *v1alpha1.NetworkConfig, path *field.Path) {
	if effective.VXLAN.Enabled || !poolIs(effective, v1alpha1.PoolVXLAN) || forbidsEncapsulation(written.IPv4) {
		return
	}
	const none = "packets are still not encapsulated, since ipv4.mode is Never with backend none; leave it out"
	warn := func(message string) { found.Warn(plugin.At(path, "ipv4.pool"), message) }
	byNone := effective.Overlay == nil && hasBackend(effective, v1alpha1.None) && !encapsulates(*effective.IPv4.Mode)
	switch {
	case overlayOff(effective):
		warn("packets are still not encapsulated, since overlay.enabled is false; leave it out")
	case byNone && hasIPv6(effective):
		warn(none)
	case byNone:
		warn(none + ", or in a new network " + forVXLAN)
	}
}

func forbidsEncapsulation(written *v1alpha1.IPv4) bool {
	return written != nil && written.Mode != nil && !encapsulates(*written.Mode)
}
