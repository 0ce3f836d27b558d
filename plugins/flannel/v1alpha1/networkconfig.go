// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NetworkConfig says how flannel is to make the pod network. Everything is
// optional. It stands in Shoot.spec.networking.providerConfig and travels to
// Network.spec.providerConfig unchanged.
type NetworkConfig struct {
	metav1.TypeMeta `json:",inline"`

	// Backend says how packets get from node to node.
	// +optional
	Backend *Backend `json:"backend,omitempty"`
	// MTU is the size of the largest packet that the network between the nodes
	// carries. Pods' own packets can be that large with host-gw, and 50 bytes less
	// with vxlan.
	// Default: absent; each node then goes by the interface of its default route.
	// Effect: MTU of the backend in net-conf.json with vxlan, and mtu of the delegate in
	// cni-conf.json with host-gw. Pods get it when they start; those that run keep theirs.
	// Rule: 576 to 65535, and in a network with IPv6 as much as leaves pods 1280.
	// +optional
	// +kubebuilder:validation:Minimum=576
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:example=1500
	MTU *int32 `json:"mtu,omitempty"`
	// IPFamilies are the IP families that pods have addresses of.
	// Default: [IPv4], or what the network has; only the first until all nodes are ready
	// for two.
	// Effect: EnableIPv4 and EnableIPv6 in net-conf.json, each with its range.
	// Rule: they must be the network's, in any order, so there is no need to write
	// them. What is in force tells them.
	// +optional
	IPFamilies []IPFamily `json:"ipFamilies,omitempty"`
	// NFTables lets flannel masquerade and forward packets by rules of nftables instead
	// of iptables. flannel calls this experimental.
	// Default: false.
	// Effect: EnableNFTables in net-conf.json. The rules of the other kind are removed.
	// +optional
	NFTables *bool `json:"nftables,omitempty"`
	// Resources are those of the flannel daemon on every node.
	// +optional
	Resources *Resources `json:"resources,omitempty"`
}

// Backend says how packets get from node to node.
type Backend struct {
	// Type is vxlan, for packets inside of UDP packets of the nodes, or host-gw, for
	// packets that travel as they are, with a route to each other node.
	// Default: vxlan.
	// Effect: Type of the backend in net-conf.json.
	// Rule: host-gw needs all nodes in one layer 2 segment, or an infrastructure that
	// makes routes to the nodes' pod ranges itself.
	// +optional
	Type *BackendType `json:"type,omitempty"`
	// Port is the UDP port of VXLAN packets. The network between the nodes must let
	// them pass.
	// Default: 8472; absent with host-gw.
	// Effect: Port of the backend in net-conf.json.
	// Rule: 1 to 65535. host-gw has none.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:example=4789
	Port *int32 `json:"port,omitempty"`
	// VNI is the VXLAN network identifier. It stands in the names of the nodes'
	// interfaces: flannel.1.
	// Default: 1; absent with host-gw.
	// Effect: VNI of the backend in net-conf.json.
	// Rule: 1 to 16777215. host-gw has none.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777215
	// +kubebuilder:example=7
	VNI *int32 `json:"vni,omitempty"`
	// DirectRouting lets packets between nodes of one subnet travel as they are, and
	// only others inside of VXLAN packets.
	// Default: false; absent with host-gw.
	// Effect: DirectRouting of the backend in net-conf.json.
	// Rule: host-gw has none: it is nothing else.
	// +optional
	DirectRouting *bool `json:"directRouting,omitempty"`
}

// BackendType is a way for packets to get from node to node.
// +kubebuilder:validation:Enum=vxlan;host-gw
type BackendType string

const (
	// VXLAN encapsulates packets.
	VXLAN BackendType = "vxlan"
	// HostGateway sends them as they are.
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

// Resources are those of a container: cpu and memory, each more than zero.
type Resources struct {
	// Requests are what a node keeps free for it. What is not stated keeps its
	// default.
	// Default: cpu 100m, memory 50Mi.
	// Effect: the requests of container kube-flannel.
	// Rule: each must be more than zero.
	// +optional
	// +trellis:keys=cpu;memory
	Requests corev1.ResourceList `json:"requests,omitempty"`
	// Limits are what it never gets more of.
	// Default: absent.
	// Effect: the limits of container kube-flannel.
	// Rule: each must be more than zero, and no less than what is requested.
	// +optional
	// +trellis:keys=cpu;memory
	Limits corev1.ResourceList `json:"limits,omitempty"`
}
