// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// NetworkStatus stands in Network.status.providerStatus and reports what is in
// force and whether it works. What Trellis has not observed is absent.
type NetworkStatus struct {
	metav1.TypeMeta                        `json:",inline"`
	extensionsv1alpha1.NetworkObservations `json:",inline"`
	extensionsv1alpha1.NetworkDataPath     `json:",inline"`

	// Components reports which of Cilium's workloads are healthy in the shoot.
	// +optional
	Components *Components `json:"components,omitempty"`
	// Config is the configuration in force, every default explicit.
	// +optional
	Config *EffectiveConfig `json:"config,omitempty"`
	// Warnings are what the author of the configuration should know.
	// +optional
	Warnings []extensionsv1alpha1.NetworkWarning `json:"warnings,omitempty"`
}

// EffectiveConfig is a NetworkConfig with every default, and the ranges of the Network.
type EffectiveConfig struct {
	NetworkConfig                    `json:",inline"`
	extensionsv1alpha1.NetworkRanges `json:",inline"`
}

// Components reports which of Cilium's workloads are healthy. One that the network
// does not have is absent.
type Components struct {
	// CiliumAgents is DaemonSet cilium.
	// +optional
	CiliumAgents *bool `json:"ciliumAgents,omitempty"`
	// Envoy is DaemonSet cilium-envoy.
	// +optional
	Envoy *bool `json:"envoy,omitempty"`
	// Operator is Deployment cilium-operator.
	// +optional
	Operator *bool `json:"operator,omitempty"`
	// HubbleRelay is Deployment hubble-relay, which is there if hubble.enabled.
	// +optional
	HubbleRelay *bool `json:"hubbleRelay,omitempty"`
	// HubbleUI is Deployment hubble-ui, which is there if hubble.enabled.
	// +optional
	HubbleUI *bool `json:"hubbleUI,omitempty"`
}
