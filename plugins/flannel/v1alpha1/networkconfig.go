// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NetworkConfig configures flannel. All fields are optional. Users write it in
// spec.networking.providerConfig of a Shoot; gardenlet copies it to spec.providerConfig
// of the Network.
type NetworkConfig struct {
	metav1.TypeMeta `json:",inline"`

	// Backend configures how packets get from node to node.
	// +optional
	Backend *Backend `json:"backend,omitempty"`
	// MTU is the MTU of the network between the nodes. Pods have the same MTU with
	// host-gw, and 50 bytes less with vxlan.
	// Default: absent; each node uses the MTU of the interface of its default route.
	// Effect: MTU of the backend in net-conf.json with vxlan, and mtu of the delegate in
	// cni-conf.json with host-gw. Pods get it when they start; running pods keep their
	// MTU.
	// Rule: In a network with IPv6, pods must have an MTU of at least 1280.
	// +optional
	// +kubebuilder:validation:Minimum=576
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:example=1500
	MTU *int32 `json:"mtu,omitempty"`
	// IPFamilies are the IP families of pods.
	// Default: [IPv4], or the families of the network; only the first one until all
	// nodes are ready for dual-stack.
	// Effect: EnableIPv4 and EnableIPv6 in net-conf.json, each with its range.
	// Rule: They must be the families of the network, in any order, so users need not
	// write them.
	// +optional
	IPFamilies []IPFamily `json:"ipFamilies,omitempty"`
	// NFTables uses nftables instead of iptables. It is experimental in flannel.
	// Default: false.
	// Effect: EnableNFTables in net-conf.json. flannel removes the rules of the other
	// kind.
	// +optional
	NFTables *bool `json:"nftables,omitempty"`
	// Resources are the resources of the flannel daemon on each node.
	// +optional
	Resources *Resources `json:"resources,omitempty"`
}

// Backend configures how packets get from node to node.
type Backend struct {
	// Type is vxlan, which encapsulates packets in UDP, or host-gw, which sends them as
	// they are, with a route to each other node.
	// Default: vxlan.
	// Effect: Type of the backend in net-conf.json.
	// Rule: host-gw requires all nodes in one layer 2 segment, or an infrastructure that
	// routes the nodes' pod ranges.
	// +optional
	Type *BackendType `json:"type,omitempty"`
	// Port is the UDP port of VXLAN packets. Firewalls between the nodes must allow it.
	// Default: 8472; absent with host-gw.
	// Effect: Port of the backend in net-conf.json.
	// Rule: It must not be set with host-gw.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:example=4789
	Port *int32 `json:"port,omitempty"`
	// VNI is the VXLAN network identifier. The nodes' interfaces have it in their names:
	// flannel.1.
	// Default: 1; absent with host-gw.
	// Effect: VNI of the backend in net-conf.json.
	// Rule: It must not be set with host-gw.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777215
	// +kubebuilder:example=7
	VNI *int32 `json:"vni,omitempty"`
	// DirectRouting sends packets between nodes of one subnet as they are, and
	// encapsulates only the others.
	// Default: false; absent with host-gw.
	// Effect: DirectRouting of the backend in net-conf.json.
	// Rule: It must not be set with host-gw, which never encapsulates.
	// +optional
	DirectRouting *bool `json:"directRouting,omitempty"`
}

// BackendType is a way for packets to get from node to node.
// +kubebuilder:validation:Enum=vxlan;host-gw
type BackendType string

const (
	// VXLAN encapsulates packets.
	VXLAN BackendType = "vxlan"
	// HostGateway sends packets as they are.
	HostGateway BackendType = "host-gw"
)

// IPFamily is an IP family, as in the Shoot.
// +kubebuilder:validation:Enum=IPv4;IPv6
type IPFamily string

const (
	// IPv4 is the IP family of addresses such as 10.0.0.1.
	IPv4 IPFamily = "IPv4"
	// IPv6 is the IP family of addresses such as 2001:db8::1.
	IPv6 IPFamily = "IPv6"
)

// Resources are the resources of a container: cpu and memory, each greater than zero.
type Resources struct {
	// Requests are the requests of the flannel daemon. A resource that is absent keeps
	// its default.
	// Default: cpu 100m, memory 50Mi.
	// Effect: the requests of container kube-flannel.
	// Rule: The value must be greater than zero. With less than 10m of cpu or 16Mi of memory
	// the daemon does not start in time, of which Trellis warns.
	// +optional
	// +trellis:keys=cpu;memory
	Requests corev1.ResourceList `json:"requests,omitempty"`
	// Limits are the limits of the flannel daemon.
	// Default: absent.
	// Effect: the limits of container kube-flannel.
	// Rule: The value must be greater than zero, and at least the request. With less than 10m
	// of cpu or 16Mi of memory the daemon does not start in time, of which Trellis warns.
	// +optional
	// +trellis:keys=cpu;memory
	Limits corev1.ResourceList `json:"limits,omitempty"`
}
