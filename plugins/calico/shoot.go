// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"encoding/json"
	"slices"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
	"github.com/trellis-network/trellis/plugins/internal/overlay"
)

// DefaultShoot states in the config of a new Shoot that there is no overlay, where the
// infrastructure turns overlays off: its controllers read in the Shoot whether to make routes
// (Gardener's contract). It leaves configs alone that state how packets travel, those with
// calico-ipam, whose addresses the infrastructure's routes do not follow, and networks with IPv6,
// which have no overlay anyway. Standalone it states nothing, since those controllers are Gardener's.
func (definition) DefaultShoot(old, shoot *corev1beta1.Shoot, in *plugin.Input) []plugin.Warning {
	if in.Standalone() {
		return nil
	}
	defaults := overlay.Defaults{Version: v1alpha1.GroupVersion, Decided: func(config overlay.Config) bool {
		return slices.Contains(shoot.Spec.Networking.IPFamilies, string(extensionsv1alpha1.IPv6)) || hasCalicoIPAM(config) ||
			slices.ContainsFunc([]string{"backend", "ipip", "ipv4", "ipv6", "vxlan"}, func(name string) bool { return config[name] != nil })
	}}
	if in.Infrastructure.NoUpstreamDNSSNAT {
		defaults.Without = overlay.Config{"snatToUpstreamDNS": json.RawMessage(`{"enabled":false}`)}
	}
	defaults.State(old, shoot, &in.Infrastructure)
	return nil
}

// hasCalicoIPAM reports whether a config asks for calico-ipam.
func hasCalicoIPAM(config overlay.Config) bool {
	var ipam v1alpha1.IPAM
	return json.Unmarshal(config["ipam"], &ipam) == nil && ipam.Type == v1alpha1.CalicoIPAM
}
