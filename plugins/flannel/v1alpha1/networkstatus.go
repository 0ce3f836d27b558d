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

	// Components says which of flannel's workloads are healthy in the shoot.
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

// Components says which of flannel's workloads are healthy.
type Components struct {
	// Nodes is DaemonSet kube-flannel-ds.
	// +optional
	Nodes *bool `json:"nodes,omitempty"`
}
