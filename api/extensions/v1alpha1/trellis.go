// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"

	"k8s.io/apimachinery/pkg/util/validation"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// MaxUnavailableAnnotation on a Network, or on its Shoot, is the number of nodes on which
// the network's agents may be missing during a roll-out. It takes precedence over the
// default, which depends on the number of nodes. Trellis reads it when it reconciles the
// Network.
const MaxUnavailableAnnotation = "trellis.network/max-unavailable"

// ProbeAnnotation on a Network or its Shoot with the value false leaves out the probe that Trellis
// adds to the network. Trellis reads it when it reconciles the Network.
const ProbeAnnotation = "trellis.network/connectivity-probe"

// RolloutAnnotation on a Network states how a new version of Trellis, or a changed setting of the
// operator, reaches it where the operator's configuration paces that: RolloutPause or RolloutNow. Changes of
// the Network's spec are carried out anyway.
const RolloutAnnotation = "trellis.network/rollout"

// The values of RolloutAnnotation.
const (
	// RolloutPause keeps the network as it is. The Network counts neither as one that must
	// succeed nor as one that failed.
	RolloutPause = "pause"
	// RolloutNow has the Network wait neither for others nor for the end of a halt; in a
	// Gardener landscape it waits for the next request to reconcile.
	RolloutNow = "now"
)

// RolloutResumedAtAnnotation on a Network is a time as of RFC 3339. A roll-out that is halted goes on, since
// no failure counts any more that any Network had until then. A time in the future has no effect
// before it comes.
const RolloutResumedAtAnnotation = "trellis.network/rollout-resumed-at"

// NetworkUpToDate is the condition of a Network that an update of Trellis, or of the operator's
// settings, has not reached yet, or has not passed: False with the reason why. Absent otherwise.
const NetworkUpToDate = "NetworkUpToDate"

// PodRoutesAnnotation on a Network or its Shoot with the value true asks for routes to the pods of all
// nodes in the route tables of the infrastructure, where the operator makes them. The Network's takes
// precedence. Where it is taken off, the routes are removed.
const PodRoutesAnnotation = "trellis.network/pod-routes"

// AsksForPodRoutes reports whether a Network, or its Shoot if that is known, has asked for routes with
// PodRoutesAnnotation.
func AsksForPodRoutes(network *Network, shoot *corev1beta1.Shoot) bool {
	if asked := network.Annotations[PodRoutesAnnotation]; asked != "" || shoot == nil {
		return asked == "true"
	}
	return shoot.Annotations[PodRoutesAnnotation] == "true"
}

// PodRoutesCreated is the condition of a Network that has asked for routes: whether all nodes have
// theirs. Absent otherwise.
const PodRoutesCreated = "PodRoutesCreated"

// TransitionAnnotation on a Network, or on its Shoot, states how a change is made that Trellis would make
// in steps, each of which leaves pods connected. The only value is TransitionAtOnce.
const TransitionAnnotation = "trellis.network/transition"

// TransitionAtOnce makes changes at once, which may interrupt traffic. A transition that is under way
// ends, and the network gets what the spec asks for.
const TransitionAtOnce = "at-once"

// ChangeTypeAnnotation on a Network, or on its Shoot, lets the type of a running network change, node by
// node. With ChangeTypeAllowed the change goes on; with any other value, and without the annotation, one that
// is under way pauses.
const ChangeTypeAnnotation = "trellis.network/change-type"

// ChangeTypeAllowed is the value of ChangeTypeAnnotation with which the type changes.
const ChangeTypeAllowed = "true"

// TypeLabel on a Node names the type of network whose agents run there, while the type of the cluster's
// network changes. A node without it, or with another value, has those of the type before, and one with
// TypeNone those of neither.
const TypeLabel = "trellis.network/type"

// TypeNone is the TypeLabel of a node from which the agents of one network are gone, and to which
// those of the other have not come yet.
const TypeNone = "none"

// ExchangeAnnotation on a Node tells which step of the change of the network's type it is at, and since when:
// "Draining 2026-11-28T02:45:00Z".
const ExchangeAnnotation = "trellis.network/type-change"

// TransitionProgressing is the condition of a Network that becomes what its spec asks for in steps: True
// while they go on, and False when they have stopped. Absent without a transition.
const TransitionProgressing = "TransitionProgressing"

// KubeProxyComponent is the key of kube-proxy among the components of a providerStatus. It is the
// only one that is no part of the network.
const KubeProxyComponent = "kube-proxy"

// APIServerAnnotation on a Cluster is the address, host:port, at which the shoot's pods
// reach their API server before Services work. Trellis sets it only without Gardener. In a
// landscape, Gardener's webhooks give the pods the address.
const APIServerAnnotation = "trellis.network/api-server"

// NetworkLabel on a ManagedResource is the name of its Network.
const NetworkLabel = "trellis.network/network"

// NetworkLabelValue returns the value of NetworkLabel for a Network: its name. If the name
// is too long for a label, it is the start of the name and a hash.
func NetworkLabelValue(name string) string {
	if len(name) <= validation.LabelValueMaxLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:4])
	return name[:validation.LabelValueMaxLength-len(hash)-1] + "-" + hash
}

// NetworkDataPath is a part of each plugin's providerStatus.
type NetworkDataPath struct {
	// DataPath is how packets between pods on different nodes travel in the network that is in
	// force, and what makes the routes, in one line: "IP-in-IP between nodes; routes by BIRD".
	// Absent if the plugin does not describe it, and in the status of an older release.
	// +optional
	DataPath string `json:"dataPath,omitempty"`
}

// NetworkRanges are the ranges of a network as its providerStatus.config states them, whichever
// spelling the Network has.
type NetworkRanges struct {
	// ClusterCIDR is the range of the pods' addresses.
	// +optional
	ClusterCIDR string `json:"clusterCIDR,omitempty"`
	// ServiceCIDR is the range of the cluster's Services.
	// +optional
	ServiceCIDR string `json:"serviceCIDR,omitempty"`
}

// NetworkWarning is what the author of a config should know about it.
type NetworkWarning struct {
	// Field is the path, for example spec.providerConfig.ipam.type.
	Field string `json:"field"`
	// Message is a sentence for users.
	Message string `json:"message"`
}

// String returns the warning as one line.
func (w NetworkWarning) String() string { return w.Field + ": " + w.Message }
