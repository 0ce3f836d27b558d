// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NetworkConfig says how Calico is to make the pod network. Everything is
// optional. It stands in Shoot.spec.networking.providerConfig and travels to
// Network.spec.providerConfig unchanged.
//
// A block that is present counts as written in full: overlay: {} is an overlay
// that is switched off, typha: {} a network without Typha.
type NetworkConfig struct {
	metav1.TypeMeta `json:",inline"`

	// Backend distributes the routes between nodes: bird (BGP), vxlan, or none
	// where somebody else makes them, for example the cloud.
	// Default: bird; none on infrastructure without IP-in-IP, and in a network with
	// IPv6.
	// Effect: calico_backend in ConfigMap calico-config. With none there are no
	// kube-controllers, and Felix sets up no IP-in-IP.
	// Rule: whenever overlay is present, it decides the backend; without it, on
	// infrastructure without IP-in-IP and in a network with IPv6, it is none.
	// +optional
	Backend *Backend `json:"backend,omitempty"`
	// IPAM says who gives pods their addresses.
	// +optional
	IPAM *IPAM `json:"ipam,omitempty"`
	// IPv4 are settings of the IPv4 address pool.
	// Rule: a network without IPv4 must not have it.
	// +optional
	IPv4 *IPv4 `json:"ipv4,omitempty"`
	// IPv6 are settings of the IPv6 address pool, which never encapsulates.
	// Rule: a network without IPv6 must not have it, nor one that is on the way to
	// dual-stack, until its nodes are ready.
	// +optional
	IPv6 *IPv6 `json:"ipv6,omitempty"`
	// Typha stands between the nodes and the API server, so that not every node
	// watches the API server by itself.
	// +optional
	Typha *Typha `json:"typha,omitempty"`
	// VethMTU is the MTU of pods' interfaces and of the tunnels between nodes, as
	// a string: a decimal number that is not negative. 0 lets Calico find out.
	// Default: "0".
	// Effect: veth_mtu in ConfigMap calico-config. Pods get it when they start;
	// those that run keep theirs.
	// Rule: Gardener types it as a string, so it must be quoted in YAML.
	// +optional
	// +kubebuilder:validation:Pattern=`^([+]?[0-9]+|-0+)$`
	// +kubebuilder:example="1440"
	VethMTU *string `json:"vethMTU,omitempty"`
	// EBPFDataplane replaces iptables by eBPF programs, in the nodes' kernels, which
	// can also do what kube-proxy does.
	// +optional
	EBPFDataplane *EBPFDataplane `json:"ebpfDataplane,omitempty"`
	// Overlay says whether packets between nodes are encapsulated, that is, travel
	// inside packets of the nodes, so that the network between the nodes need not
	// know pods' addresses. It has three states: on, off, and absent. Absent leaves
	// the decision to backend and ipv4, and the address pool to calico-node, which
	// makes one at its first start.
	// Default: absent. With the defaults of backend and ipv4 packets are then
	// encapsulated with IP-in-IP, but not on infrastructure without IP-in-IP or in a
	// network with IPv6.
	// +optional
	Overlay *Overlay `json:"overlay,omitempty"`
	// SnatToUpstreamDNS masquerades pods' requests to the nodes' name servers.
	// +optional
	SnatToUpstreamDNS *SnatToUpstreamDNS `json:"snatToUpstreamDNS,omitempty"`
	// AutoScaling says how Calico's workloads get their resources.
	// +optional
	AutoScaling *AutoScaling `json:"autoScaling,omitempty"`
	// VXLAN makes VXLAN the encapsulation instead of IP-in-IP.
	// +optional
	VXLAN *VXLAN `json:"vxlan,omitempty"`
	// WireguardEncryption encrypts traffic between nodes.
	// Default: false.
	// Effect: FELIX_WIREGUARDENABLED and FELIX_WIREGUARDENABLEDV6 on calico-node, and
	// true as the default of ipv6.sourceNATEnabled.
	// +optional
	WireguardEncryption *bool `json:"wireguardEncryption,omitempty"`
	// BirdExporter exports metrics of BIRD, the program that distributes routes.
	// +optional
	BirdExporter *BirdExporter `json:"birdExporter,omitempty"`
	// Multus gives pods more than one network: Calico's, and those that people
	// describe.
	// +optional
	Multus *Multus `json:"multus,omitempty"`
	// ServiceLoopPrevention says what to do with packets to a Service address that
	// no Service has, which would otherwise circle between node and router:
	// Disabled, Drop or Reject.
	// Default: absent, which leaves it to Calico (Drop).
	// Effect: FELIX_SERVICELOOPPREVENTION on calico-node.
	// +optional
	ServiceLoopPrevention *ServiceLoopPrevention `json:"serviceLoopPrevention,omitempty"`

	// IPIP is a deprecated name of ipv4.mode. Write that one instead.
	// Effect: none; it is checked and then left aside, as in Gardener's extension.
	// +optional
	IPIP *PoolMode `json:"ipip,omitempty"`
	// IPAutodetectionMethod is a deprecated name of ipv4.autoDetectionMethod. Write
	// that one instead.
	// Effect: none; it is checked and then left aside, as in Gardener's extension.
	// +optional
	// +trellis:pattern=`^(first-found$|kubernetes-internal-ip$|can-reach={HOST}$|(interface|skip-interface)=[\s\S]|cidr={CIDR}$)`
	IPAutodetectionMethod *string `json:"ipAutodetectionMethod,omitempty"`
}

// Backend distributes the routes between nodes.
// +kubebuilder:validation:Enum=bird;none;vxlan
type Backend string

const (
	// Bird distributes routes by BGP.
	Bird Backend = "bird"
	// None leaves routes to somebody else.
	None Backend = "none"
	// VXLANBackend needs no routes: every node is reached through VXLAN.
	VXLANBackend Backend = "vxlan"
)

// IPAM says who gives pods their addresses.
type IPAM struct {
	// Type is host-local, each node from a range of its own, or calico-ipam, from
	// Calico's address pools. An empty string means the default.
	// Default: host-local; calico-ipam if vxlan.enabled, which needs it.
	// Effect: ipam.type in the CNI configuration; with host-local USE_POD_CIDR on
	// calico-node and Typha.
	// Rule: it cannot change while pods run, since neither knows the addresses
	// that the other one gave away. calico-ipam is for networks of IPv4 only.
	// +optional
	// +kubebuilder:validation:Enum=host-local;calico-ipam;""
	Type IPAMType `json:"type,omitempty"`
	// CIDR is the range that host-local takes addresses from: usePodCIDR (in any
	// letter case) for the node's own pod range, or a range such as 100.96.0.0/24.
	// Default: usePodCidr; usePodCidrIPv6, which users must not write, in a network
	// of IPv6 only.
	// Effect: ipam.subnet in the CNI configuration, spelt as written. In dual-stack
	// ipam.ranges instead, with the node's two ranges.
	// Rule: neither calico-ipam nor dual-stack takes a range from here, so usePodCidr
	// is in force then. Where it is vxlan.enabled that brings calico-ipam, the range
	// stays in the CNI configuration, and means nothing.
	// +optional
	// +kubebuilder:example="100.96.0.0/24"
	// +trellis:pattern=`^([uU][sS][eE][pP][oO][dD][cC][iI][dD][rR]|{CIDR})$`
	CIDR *string `json:"cidr,omitempty"`
}

// IPAMType names a CNI plugin that gives addresses to pods.
type IPAMType string

const (
	// HostLocal gives addresses from the node's own pod range.
	HostLocal IPAMType = "host-local"
	// CalicoIPAM gives addresses from Calico's address pools.
	CalicoIPAM IPAMType = "calico-ipam"
)

// What stands for the node's own pod range, as the CNI configuration spells it.
const (
	// UsePodCIDR is the IPv4 range.
	UsePodCIDR = "usePodCidr"
	// UsePodCIDRIPv6 is the IPv6 range. Users write UsePodCIDR for it, too.
	UsePodCIDRIPv6 = "usePodCidrIPv6"
)

// IPv4 are settings of the IPv4 address pool.
// +trellis:narrowed=pool;vxlan;mode;Always;Never
type IPv4 struct {
	// Pool is how calico-node encapsulates in the pool that it makes itself: ipip
	// or vxlan.
	// Default: ipip; vxlan if vxlan.enabled.
	// Effect: the name of the variable that carries ipv4.mode on calico-node:
	// CALICO_IPV4POOL_IPIP or CALICO_IPV4POOL_VXLAN. It does not change the
	// address pool that is there if overlay is present: vxlan.enabled does.
	// +optional
	Pool *Pool `json:"pool,omitempty"`
	// Mode says when packets are encapsulated: Always, CrossSubnet (only between
	// subnets), Never, or Off, which is another word for Never. Together with
	// pool: vxlan it is Always or Never.
	// Default: Always; Never with backend none or overlay.enabled: false, unless
	// vxlan.enabled.
	// Effect: the value of the variable that ipv4.pool names.
	// Rule: overlay.enabled decides it wherever overlay is present, but not in
	// dual-stack, where it only decides that of IPv6.
	// +optional
	Mode *PoolMode `json:"mode,omitempty"`
	// AutoDetectionMethod says how a node finds its own address: first-found,
	// kubernetes-internal-ip, can-reach=HOST, interface=REGEX,
	// skip-interface=REGEX or cidr=RANGE.
	// Default: absent; Calico then takes the first address that it finds.
	// Effect: IP_AUTODETECTION_METHOD on calico-node.
	// Rule: where the Shoot states its nodes' range, cidr= with the ranges that
	// its status reports, or else that one, goes before.
	// +optional
	// +kubebuilder:example="interface=eth.*"
	// +trellis:pattern=`^($|first-found$|kubernetes-internal-ip$|can-reach={HOST}$|(interface|skip-interface)=[\s\S]|cidr={CIDR}$)`
	AutoDetectionMethod *string `json:"autoDetectionMethod,omitempty"`
}

// IPv6 are settings of the IPv6 address pool. The pool is always there in a network
// with IPv6, and never encapsulates: IPv6 packets travel as they are.
// +trellis:narrowed=pool;vxlan;mode;Always;Never
type IPv6 struct {
	// Pool is how calico-node would encapsulate in a pool that it makes itself:
	// vxlan.
	// Default: vxlan.
	// Effect: none but the name of the variable that carries ipv6.mode on
	// calico-node, CALICO_IPV6POOL_VXLAN.
	// +optional
	Pool *IPv6Pool `json:"pool,omitempty"`
	// Mode says when packets would be encapsulated in such a pool: Always,
	// CrossSubnet, Never or Off; with a pool that is written, Always or Never.
	// Default: Never; Always with overlay.enabled: true.
	// Effect: CALICO_IPV6POOL_VXLAN on calico-node.
	// Rule: the default is always in force.
	// +optional
	Mode *PoolMode `json:"mode,omitempty"`
	// AutoDetectionMethod says how a node finds its own IPv6 address: as
	// ipv4.autoDetectionMethod.
	// Default: absent; Calico then takes the first address that it finds.
	// Effect: IP6_AUTODETECTION_METHOD on calico-node.
	// Rule: where the Shoot states its nodes' range, cidr= with the IPv6 ranges
	// that its status reports goes before.
	// +optional
	// +kubebuilder:example="interface=eth.*"
	// +trellis:pattern=`^($|first-found$|kubernetes-internal-ip$|can-reach={HOST}$|(interface|skip-interface)=[\s\S]|cidr={CIDR}$)`
	AutoDetectionMethod *string `json:"autoDetectionMethod,omitempty"`
	// SourceNATEnabled masquerades what pods send out of the pod network.
	// Default: false; true with wireguardEncryption.
	// Effect: natOutgoing of the IPPool default-ipv6-ippool, and
	// CALICO_IPV6POOL_NAT_OUTGOING on calico-node.
	// +optional
	SourceNATEnabled *bool `json:"sourceNATEnabled,omitempty"`
}

// Pool is a kind of encapsulation.
// +kubebuilder:validation:Enum=ipip;vxlan
type Pool string

const (
	// PoolIPIP is IP-in-IP.
	PoolIPIP Pool = "ipip"
	// PoolVXLAN is VXLAN.
	PoolVXLAN Pool = "vxlan"
)

// IPv6Pool is a kind of encapsulation that there is for IPv6.
// +kubebuilder:validation:Enum=vxlan
type IPv6Pool string

// IPv6PoolVXLAN is VXLAN.
const IPv6PoolVXLAN IPv6Pool = "vxlan"

// PoolMode says when packets are encapsulated.
// +kubebuilder:validation:Enum=Always;Never;CrossSubnet;Off
type PoolMode string

const (
	// Always encapsulates all packets between nodes.
	Always PoolMode = "Always"
	// Never encapsulates none.
	Never PoolMode = "Never"
	// CrossSubnet encapsulates what leaves the node's subnet.
	CrossSubnet PoolMode = "CrossSubnet"
	// Off is another word for Never.
	Off PoolMode = "Off"
)

// Typha stands between the nodes and the API server, so that not every node
// watches the API server by itself. It pays off from about fifty nodes on.
type Typha struct {
	// Enabled says whether Typha runs.
	// Default: true.
	// Effect: Deployment calico-typha-deploy with its Service, budget and
	// autoscalers; typha_service_name in ConfigMap calico-config.
	// +optional
	Enabled bool `json:"enabled"`
}

// EBPFDataplane replaces iptables by eBPF programs.
type EBPFDataplane struct {
	// Enabled says whether eBPF is used.
	// Default: false.
	// Effect: FELIX_BPFENABLED on calico-node and what its programs need of the
	// host. calico-node is privileged then, whatever the feature gate
	// NonPrivilegedCalicoNode says.
	// Rule: a Shoot without kube-proxy needs it.
	// +optional
	Enabled bool `json:"enabled"`
}

// Overlay says whether packets between nodes are encapsulated.
type Overlay struct {
	// Enabled true encapsulates everything between nodes, with IP-in-IP, or with
	// VXLAN if vxlan.enabled. False encapsulates nothing: somebody must make the
	// routes to the nodes' pod ranges.
	// Effect: true gives backend bird (vxlan with vxlan.enabled) and ipv4.mode
	// Always; false gives backend none and ipv4.mode Never, removes what an
	// overlay left on the nodes, and keeps pods' addresses towards nodes.
	// Rule: on infrastructure without IP-in-IP true means VXLAN. IPv6 packets travel
	// as they are all the same.
	// +optional
	Enabled bool `json:"enabled"`
	// CreatePodRoutes makes Calico itself distribute the routes in a network
	// without overlay. All nodes must be in one layer 2 segment.
	// Default: false.
	// Effect: backend bird instead of none. Only looked at if overlay.enabled is
	// false.
	// +optional
	CreatePodRoutes *bool `json:"createPodRoutes,omitempty"`
}

// SnatToUpstreamDNS masquerades pods' requests to the nodes' name servers, which
// some infrastructures answer for nodes' addresses only.
type SnatToUpstreamDNS struct {
	// Enabled says whether these requests are masqueraded: sent with the node's
	// address in place of the pod's.
	// Default: false; true if overlay.enabled is false. Elsewhere there is nothing
	// to do, since packets leave with the node's address anyway.
	// Effect: container add-snat-rule-to-upstream-dns and
	// FELIX_CHAININSERTMODE=Append on calico-node.
	// +optional
	Enabled bool `json:"enabled"`
}

// AutoScaling says how Calico's workloads get their resources.
type AutoScaling struct {
	// Mode is cluster-proportional, which lets requests grow with the number of
	// nodes, static, which leaves them as stated here, or vpa, which leaves them
	// to the vertical pod autoscaler.
	// Default: cluster-proportional.
	// Effect: cluster-proportional: Deployments calico-node-vertical-autoscaler and
	// calico-typha-vertical-autoscaler; vpa: VerticalPodAutoscalers calico-node and
	// calico-typha; static: none of them. Typha's number of replicas grows with the
	// cluster in every mode.
	// Rule: cluster-proportional is in force instead of vpa where the Shoot has no
	// vertical pod autoscaler.
	Mode AutoScalingMode `json:"mode"`
	// Resources are the requests of mode static, and the least requests of mode
	// vpa.
	// Rule: with cluster-proportional they are not in force.
	// +optional
	Resources *StaticResources `json:"resources,omitempty"`
}

// AutoScalingMode is a way to scale Calico's workloads.
// +kubebuilder:validation:Enum=cluster-proportional;vpa;static
type AutoScalingMode string

const (
	// ClusterProportional lets requests grow with the number of nodes.
	ClusterProportional AutoScalingMode = "cluster-proportional"
	// VPA leaves requests to the vertical pod autoscaler.
	VPA AutoScalingMode = "vpa"
	// Static leaves requests as they are stated.
	Static AutoScalingMode = "static"
)

// StaticResources are the requests of mode static and the least requests of mode
// vpa: cpu and memory, each more than zero. What is not stated keeps its default.
type StaticResources struct {
	// Node are the requests of container calico-node. In mode vpa it starts with
	// them, and never gets less.
	// Default: cpu 250m, memory 100Mi; in mode vpa nothing is the least.
	// Rule: each must be more than zero.
	// +optional
	// +trellis:keys=cpu;memory
	// +trellis:positive
	Node corev1.ResourceList `json:"node,omitempty"`
	// Typha are the requests of Typha. In mode vpa it never gets less, but starts
	// with the default.
	// Default: cpu 200m, memory 100Mi; in mode vpa nothing is the least.
	// Rule: each must be more than zero. They mean nothing without typha.enabled.
	// +optional
	// +trellis:keys=cpu;memory
	// +trellis:positive
	Typha corev1.ResourceList `json:"typha,omitempty"`
}

// VXLAN makes VXLAN the encapsulation instead of IP-in-IP.
type VXLAN struct {
	// Enabled says whether VXLAN is used.
	// Default: false; true for an overlay on infrastructure without IP-in-IP.
	// Effect: ipv4.pool vxlan and ipam.type calico-ipam; with overlay.enabled
	// also backend vxlan, an address pool with VXLAN, and Felix without IP-in-IP.
	// Rule: VXLAN needs calico-ipam, whatever ipam.type says. It is for IPv4.
	// +optional
	Enabled bool `json:"enabled"`
}

// BirdExporter exports metrics of BIRD.
type BirdExporter struct {
	// Enabled says whether the exporter runs beside calico-node.
	// Default: false.
	// Effect: container bird-exporter in calico-node (not if calico-node is not
	// privileged) and Service calico-bird-monitoring.
	// +optional
	Enabled bool `json:"enabled"`
}

// Multus gives pods more than one network.
type Multus struct {
	// Enabled says whether Multus is installed.
	// Default: false.
	// Effect: DaemonSet multus, which puts Multus before Calico in the nodes' CNI
	// configuration, and kind NetworkAttachmentDefinition, in which people
	// describe further networks.
	// Rule: switching it off deletes that kind, and with it every
	// NetworkAttachmentDefinition that people wrote.
	// +optional
	Enabled bool `json:"enabled"`
	// InstallCNIPlugins also installs the CNI plugins that further networks use,
	// but for those that Calico brings.
	// Default: false.
	// Effect: init container install-cni-plugins of DaemonSet multus.
	// Rule: it means nothing without multus.enabled.
	// +optional
	InstallCNIPlugins bool `json:"installCNIPlugins"`
}

// ServiceLoopPrevention says what to do with packets to a Service address that
// no Service has.
// +kubebuilder:validation:Enum=Disabled;Drop;Reject
type ServiceLoopPrevention string

const (
	// ServiceLoopDisabled lets them circle.
	ServiceLoopDisabled ServiceLoopPrevention = "Disabled"
	// ServiceLoopDrop drops them.
	ServiceLoopDrop ServiceLoopPrevention = "Drop"
	// ServiceLoopReject answers them with an error.
	ServiceLoopReject ServiceLoopPrevention = "Reject"
)
