// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NetworkObservations are what Trellis observes of every network, beside the health of its
// components: a part of each plugin's providerStatus.
type NetworkObservations struct {
	// Rollouts are those that go on, by the name of the component.
	// +optional
	Rollouts map[string]Rollout `json:"rollouts,omitempty"`
	// ConnectivityTests reports what recent probes from inside the shoot reached.
	// +optional
	ConnectivityTests *ConnectivityTests `json:"connectivityTests,omitempty"`
	// NetworkModules reports what the probes read of the nodes.
	// +optional
	NetworkModules *NetworkModules `json:"networkModules,omitempty"`
}

// Rollout is how far the latest version of a component has come that is not yet available on all
// nodes. While it goes on, its figures are written every ten seconds at most.
type Rollout struct {
	// Nodes is the number of nodes that must run the component.
	Nodes int32 `json:"nodes"`
	// Updated is the number of nodes that have a pod of its latest version, which need not run yet.
	Updated int32 `json:"updated"`
	// Available is the number of nodes with an available pod of any version.
	Available int32 `json:"available"`
	// Since is when the roll-out began. Absent if that is unknown.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}
