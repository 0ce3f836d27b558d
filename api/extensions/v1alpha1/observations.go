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
	// Transition is how far the network has come that becomes what its spec asks for in steps.
	// Absent without such a change.
	// +optional
	Transition *NetworkTransition `json:"transition,omitempty"`
}

// NetworkTransition is where a network stands on the way to what its spec asks for. While agents are
// rolled out, the number of nodes is written every ten seconds at most.
type NetworkTransition struct {
	// From is how packets travelled before: "VXLAN between nodes".
	// +optional
	From string `json:"from,omitempty"`
	// To is how they travel in the end.
	// +optional
	To string `json:"to,omitempty"`
	// Step is the number of the present step, 0 before the first one.
	Step int32 `json:"step"`
	// Steps is how many there are.
	Steps int32 `json:"steps"`
	// Name is that of the present step.
	// +optional
	Name string `json:"name,omitempty"`
	// Nodes is how many nodes there are, and NodesDone how many run the present step. Both are absent if
	// that is unknown.
	// +optional
	Nodes *int32 `json:"nodes,omitempty"`
	// +optional
	NodesDone *int32 `json:"nodesDone,omitempty"`
	// WaitsFor is what the network waits for before it goes on.
	WaitsFor string `json:"waitsFor"`
	// Since is when the present step began.
	Since metav1.Time `json:"since"`
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
