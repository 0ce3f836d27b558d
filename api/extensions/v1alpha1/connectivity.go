// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PodNetworkAvailable is the type of the condition of a Network that reports whether pods
// reach other pods, nodes, Services and DNS. It is absent in a network without probes and while
// the cluster is hibernated, and Unknown if there is too little recent evidence. While it is
// there, providerStatus.connectivityTests and providerStatus.networkModules are Trellis'.
const PodNetworkAvailable = "PodNetworkAvailable"

// ConnectivityTests reports what recent probes from inside the shoot reached. It has the results
// of all IP families together.
type ConnectivityTests struct {
	ConnectivityResults `json:",inline"`
	// Families has the results of each family, if more than one is tested.
	// +optional
	Families map[IPFamily]ConnectivityResults `json:"families,omitempty"`
	// Summary is how much was tested, and what fails.
	// +optional
	Summary *ConnectivitySummary `json:"summary,omitempty"`
}

// ConnectivityResults has true for each test that passes, and false for each that fails. A test of
// which too little is known is absent.
type ConnectivityResults struct {
	// Pods reports whether pods reached pods on other nodes.
	// +optional
	Pods *bool `json:"pods,omitempty"`
	// Services reports whether pods reached Services.
	// +optional
	Services *bool `json:"services,omitempty"`
	// DNS reports whether DNS servers answered pods.
	// +optional
	DNS *bool `json:"dns,omitempty"`
	// Nodes reports whether pods reached nodes.
	// +optional
	Nodes *bool `json:"nodes,omitempty"`
}

// ConnectivitySummary is how much was tested, and what fails. While the results stay the same, it
// is written once a minute at most.
type ConnectivitySummary struct {
	// Nodes is the number of nodes whose probe has reported recently.
	Nodes int32 `json:"nodes"`
	// Edges is the number of pairs of a probe and a target that were tested, each family and test
	// by itself. It is not written for a change of less than a tenth.
	Edges int32 `json:"edges"`
	// PassingPercent is the share of the Edges that pass, rounded down: 100 means all.
	PassingPercent int32 `json:"passingPercent"`
	// Worst are the edges that have been failing for longest, ten at most.
	// +optional
	Worst []FailingEdge `json:"worst,omitempty"`
	// Evidence is the hour of the latest report.
	Evidence metav1.Time `json:"evidence"`
}

// FailingEdge is a target that a probe does not reach. Its texts are those of the probe, without
// what cannot be printed, and with … where they are cut.
type FailingEdge struct {
	// Node is where the probe runs.
	Node string `json:"node"`
	// Target is the node that is tested, or the name of the Service.
	Target string `json:"target"`
	// Test is pods, nodes, services or dns.
	Test string `json:"test"`
	// Family is the IP family.
	Family IPFamily `json:"family"`
	// LastSuccess is the minute in which the probe reached the target last. Absent if it did not
	// since it tests the target.
	// +optional
	LastSuccess *metav1.Time `json:"lastSuccess,omitempty"`
	// Error is why the last attempt failed.
	// +optional
	Error string `json:"error,omitempty"`
}

// NetworkModules reports what the probes read of the nodes.
type NetworkModules struct {
	// ARPProxy reports whether the pods on all nodes rely on proxy ARP of their node. Absent if no
	// probe could read it.
	// +optional
	ARPProxy *bool `json:"arp_proxy,omitempty"`
}
