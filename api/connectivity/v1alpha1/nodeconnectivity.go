// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// IPFamily is an IP family in Kubernetes' spelling.
//
// +kubebuilder:validation:Enum=IPv4;IPv6
type IPFamily string

// The IP families.
const (
	IPv4 IPFamily = "IPv4"
	IPv6 IPFamily = "IPv6"
)

// CheckType is what a check tests. All checks start in the pod of a probe.
//
// +kubebuilder:validation:Enum=pods;nodes;services;dns;outside
type CheckType string

const (
	// CheckPods connects to the probes of other nodes at the addresses of their pods, and
	// exchanges a small HTTP message with each. Every third attempt, and each one after a failed
	// one, also exchanges bodies of several full segments in both directions.
	CheckPods CheckType = "pods"
	// CheckNodes opens a TCP connection to the kubelet's port of the nodes of CheckPods' targets.
	// A refused connection is a success too, since the node has answered.
	CheckNodes CheckType = "nodes"
	// CheckServices exchanges a small HTTP message with a cluster IP of the probes' Service. Which
	// probe answers is the choice of what implements Services on the node. An attempt consists of
	// up to three connections, and has failed if none of them succeeds.
	CheckServices CheckType = "services"
	// CheckDNS asks a DNS server of the pod for the name of the probes' Service. The family is
	// that of the server's address.
	CheckDNS CheckType = "dns"
	// CheckOutside opens a TCP connection to the target that the operator has set.
	CheckOutside CheckType = "outside"
)

// FailingThreshold is the number of successive failed attempts from which a target is failing. A
// single lost packet or restarted peer is not.
const FailingThreshold = 2

// NodeConnectivity is what the probe on a node has measured. The object has the name of the node,
// and the node is its owner. Only that node's probe may write it: a
// ValidatingAdmissionPolicy compares the name with the node of the probe's token.
//
// The probe reports when a target begins or ceases to fail, or when there are more targets than
// before, though not twice within ten seconds; and otherwise about once a minute. A report that is
// more than two minutes old therefore shows nothing but that the probe, its node, or its way to the
// API server does not work. Clocks of nodes may differ: an age is better taken from when a report was seen.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodeconnectivities,scope=Cluster
// +kubebuilder:printcolumn:name=Evidence,type=date,JSONPath=`.report.time`,description="Time since the report was made."
// +kubebuilder:printcolumn:name=Version,type=string,JSONPath=`.report.probeVersion`,description="Version of the probe."
// +kubebuilder:printcolumn:name=Targets,type=integer,JSONPath=`.report.targets`,description="Number of targets that are tested."
// +kubebuilder:printcolumn:name=Failing,type=integer,JSONPath=`.report.failing`,description="Number of targets that are failing."
type NodeConnectivity struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Report is the latest one. Each report replaces the one before as a whole.
	Report Report `json:"report"`
}

// NodeConnectivityList is a list of NodeConnectivities.
//
// +kubebuilder:object:root=true
type NodeConnectivityList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeConnectivity `json:"items"`
}

// Report is what a probe knew at a time. All times are those of the node's clock.
//
// +structType=atomic
type Report struct {
	// Time is when the report was made. Everything else is what was known then.
	Time metav1.Time `json:"time"`
	// ProbeVersion is the version of the probe's program.
	// +kubebuilder:validation:MaxLength=64
	ProbeVersion string `json:"probeVersion"`
	// Peers is the number of other nodes whose probes this one knows, of which it tests a few.
	// +kubebuilder:validation:Minimum=0
	Peers int32 `json:"peers"`
	// Targets is the sum of the targets of all checks.
	// +kubebuilder:validation:Minimum=0
	Targets int32 `json:"targets"`
	// Failing is the sum of the failing targets of all checks.
	// +kubebuilder:validation:Minimum=0
	Failing int32 `json:"failing"`
	// PodInterface is what the probe has read of the network interface of its own pod. It is
	// absent if the probe has found no interface with an address of the pod.
	// +optional
	PodInterface *PodInterface `json:"podInterface,omitempty"`
	// Checks has one entry for each family and type that the probe tests. A check without an
	// entry is not tested: the family is not one of the pod's, no target is set, or there is no
	// peer. They are sorted by family, and then in the order pods, nodes, services, dns, outside.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Checks []Check `json:"checks,omitempty"`
}

// PodInterface is the network interface of the probe's pod.
type PodInterface struct {
	// Name of the interface, usually eth0.
	// +kubebuilder:validation:MaxLength=15
	Name string `json:"name"`
	// MTU of the interface in bytes.
	// +kubebuilder:validation:Minimum=0
	MTU int32 `json:"mtu"`
	// ProxyARP reports whether the pod relies on proxy ARP of its node: true if its IPv4 gateway
	// is a link-local address, which no node has, and has been resolved by ARP; false if
	// the gateway is an address of the interface's own subnet, or is resolved by a permanent
	// entry. It is absent in all other cases: the pod cannot read the setting of the node's end.
	// +optional
	ProxyARP *bool `json:"proxyARP,omitempty"`
}

// Check is the results of one type of test in one family.
type Check struct {
	// Family of the addresses that are connected to.
	Family IPFamily `json:"family"`
	// Type is what is tested.
	Type CheckType `json:"type"`
	// Targets is the number of targets of which at least one attempt is complete. It is the
	// length of Results.
	// +kubebuilder:validation:Minimum=0
	Targets int32 `json:"targets"`
	// Failing is the number of Results whose ConsecutiveFailures are FailingThreshold or more.
	// +kubebuilder:validation:Minimum=0
	Failing int32 `json:"failing"`
	// Results has one entry for each target, sorted by name and address. Targets change: a peer
	// that leaves takes its entry along, and one of the peers is another one every few minutes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Results []Result `json:"results,omitempty"`
}

// Result is what is known of one target.
type Result struct {
	// Name is the name of the target's node, for CheckPods and CheckNodes. For the others it is
	// the name that is asked for or connected to.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Address has the form address:port.
	// +kubebuilder:validation:MaxLength=64
	Address string `json:"address"`
	// Attempts is the number of the latest complete attempts that Failures is about, 30 at most. An
	// attempt takes place about every ten seconds.
	// +kubebuilder:validation:Minimum=0
	Attempts int32 `json:"attempts"`
	// Failures is the number of those that failed. Absent means none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Failures int32 `json:"failures,omitempty"`
	// ConsecutiveFailures is the number of failed attempts since the last success, or since the
	// target is tested. Absent means that the last attempt succeeded.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ConsecutiveFailures int32 `json:"consecutiveFailures,omitempty"`
	// FailingSince is when the first of the ConsecutiveFailures began. Absent without any.
	// +optional
	FailingSince *metav1.Time `json:"failingSince,omitempty"`
	// LastSuccess is when the last successful attempt ended. Absent if there was none since the
	// target is tested.
	// +optional
	LastSuccess *metav1.Time `json:"lastSuccess,omitempty"`
	// Error is why the last attempt failed. Absent if it succeeded.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Error string `json:"error,omitempty"`
	// LatencyMicroseconds is how long the last successful attempt took until the first answer: a
	// connection and a small exchange, without the exchange of full segments. For CheckNodes and
	// CheckOutside it is the connection alone. Absent if there was no success.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LatencyMicroseconds int32 `json:"latencyMicroseconds,omitempty"`
	// FullSizePackets reports, for CheckPods, whether a packet of the size of PodInterface.MTU that
	// must not be fragmented reached the target in the latest test, and its echo came back. False
	// alone is no failure: TCP may have adapted to a smaller path. Absent if the last attempt found
	// the target unreachable, or the size was not tested.
	// +optional
	FullSizePackets *bool `json:"fullSizePackets,omitempty"`
}
