// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// DefaultShoot states in the config of a new Shoot that there is no overlay, where the
// infrastructure turns overlays off: its controllers read in the Shoot whether to make routes
// (Gardener's contract). It leaves configs alone that state how packets travel, those with
// calico-ipam, whose addresses the infrastructure's routes do not follow, and networks with IPv6,
// which have no overlay anyway. An update that leaves overlay out keeps the one that the
// Shoot has, since to switch the overlay interrupts traffic. Standalone it states nothing, since
// those controllers are Gardener's.
func (definition) DefaultShoot(old, shoot *corev1beta1.Shoot, in *plugin.Input) []plugin.Warning {
	networking := shoot.Spec.Networking
	if !in.Infrastructure.OverlayOff || in.Standalone() || slices.Contains(networking.IPFamilies, string(extensionsv1alpha1.IPv6)) {
		return nil
	}
	config, isObject := configOf(shoot)
	if !isObject || config["overlay"] != nil {
		return nil
	}
	overlay := json.RawMessage(`{"enabled":false}`)
	if old == nil && hasCalicoIPAM(config) {
		return nil
	}
	if old != nil {
		before, _ := configOf(old)
		if overlay = before["overlay"]; overlay == nil {
			return nil
		}
	}
	for _, other := range []string{"backend", "ipip", "ipv4", "ipv6", "vxlan"} {
		if config[other] != nil {
			return nil
		}
	}
	if config == nil {
		config = map[string]json.RawMessage{
			"apiVersion": json.RawMessage(`"` + v1alpha1.GroupVersion.String() + `"`), "kind": json.RawMessage(`"NetworkConfig"`),
		}
	}
	config["overlay"] = overlay
	raw, err := json.Marshal(config)
	if err != nil {
		return nil // the parts were decoded from JSON
	}
	networking.ProviderConfig = &runtime.RawExtension{Raw: raw}
	return nil
}

// hasCalicoIPAM reports whether a config asks for calico-ipam.
func hasCalicoIPAM(config map[string]json.RawMessage) bool {
	var ipam v1alpha1.IPAM
	return json.Unmarshal(config["ipam"], &ipam) == nil && ipam.Type == v1alpha1.CalicoIPAM
}

// configOf returns the fields of a Shoot's config, nil if there is no config; false if it is no
// object.
func configOf(shoot *corev1beta1.Shoot) (config map[string]json.RawMessage, isObject bool) {
	networking := shoot.Spec.Networking
	if networking == nil || networking.ProviderConfig == nil || len(networking.ProviderConfig.Raw) == 0 {
		return nil, true
	}
	err := json.Unmarshal(networking.ProviderConfig.Raw, &config)
	return config, err == nil
}
