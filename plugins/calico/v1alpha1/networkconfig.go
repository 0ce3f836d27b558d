// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NetworkConfig configures Calico. All fields are optional. Users write it in
// spec.networking.providerConfig of a Shoot; gardenlet copies it to spec.providerConfig
// of the Network.
//
// A block that is present counts as written in full: overlay: {} switches the overlay
// off, and typha: {} switches Typha off.
type NetworkConfig struct {
	metav1.TypeMeta `json:",inline"`

	// Backend distributes the routes between nodes: bird (BGP), vxlan, or none if the
	// infrastructure routes them.
	// Default: bird; none on infrastructure without IP-in-IP, and in a network with
	// IPv6.
	// Effect: calico_backend in ConfigMap calico-config. With none there are no
	// kube-controllers, and Felix sets up no IP-in-IP.
	// Rule: overlay, if present, decides the backend. Without overlay it is none on
	// infrastructure without IP-in-IP, and in a network with IPv6.
	// +optional
	Backend *Backend `json:"backend,omitempty"`
	// IPAM configures how pods get their addresses.
	// +optional
	IPAM *IPAM `json:"ipam,omitempty"`
	// IPv4 configures the IPv4 address pool.
	// Rule: a network without IPv4 must not have this block.
	// +optional
	IPv4 *IPv4 `json:"ipv4,omitempty"`
	// IPv6 configures the IPv6 address pool, which never encapsulates.
	// Rule: a network without IPv6 must not have this block, nor a network that is
	// migrating to dual-stack, until its nodes are ready.
	// +optional
	IPv6 *IPv6 `json:"ipv6,omitempty"`
	// Typha is a cache between the nodes and the API server, so that not every node
	// watches the API server itself.
	// +optional
	Typha *Typha `json:"typha,omitempty"`
	// VethMTU is the MTU of pods' interfaces and of the tunnels between nodes, as a
	// string: a decimal number that is not negative. With 0, Calico detects the MTU.
	// Default: "0".
	// Effect: veth_mtu in ConfigMap calico-config. Pods get it when they start; running
	// pods keep their MTU.
	// Rule: The value is a string, so quote it in YAML.
	// +optional
	// +kubebuilder:validation:Pattern=`^([+]?[0-9]+|-0+)$`
	// +kubebuilder:example="1440"
	VethMTU *string `json:"vethMTU,omitempty"`
	// EBPFDataplane replaces iptables with eBPF programs in the nodes' kernels, which
	// can also replace kube-proxy.
	// +optional
	EBPFDataplane *EBPFDataplane `json:"ebpfDataplane,omitempty"`
	// Overlay decides whether packets between nodes are encapsulated, so that the
	// network between the nodes need not know pods' addresses. It has three states: on,
	// off, and absent. If it is absent, backend and ipv4 decide, and calico-node creates
	// the address pool when it first starts.
	// Default: absent. With the defaults of backend and ipv4 packets are
	// encapsulated with IP-in-IP, but not on infrastructure without IP-in-IP or in a
	// network with IPv6. An overlay that states nothing has enabled: false.
	// +optional
	Overlay *Overlay `json:"overlay,omitempty"`
	// SnatToUpstreamDNS masquerades pods' requests to the nodes' name servers.
	// +optional
	SnatToUpstreamDNS *SnatToUpstreamDNS `json:"snatToUpstreamDNS,omitempty"`
	// AutoScaling configures the resource requests of Calico's workloads.
	// +optional
	AutoScaling *AutoScaling `json:"autoScaling,omitempty"`
	// VXLAN uses VXLAN for the encapsulation instead of IP-in-IP.
	// +optional
	VXLAN *VXLAN `json:"vxlan,omitempty"`
	// WireguardEncryption encrypts traffic between nodes with WireGuard, for both IP
	// families.
	// Default: false.
	// Effect: FELIX_WIREGUARDENABLED and FELIX_WIREGUARDENABLEDV6 on calico-node, and
	// the default true for ipv6.sourceNATEnabled, whose change has a class of its own.
	// +optional
	WireguardEncryption *bool `json:"wireguardEncryption,omitempty"`
	// BirdExporter exports the metrics of BIRD, the program that distributes routes.
	// +optional
	BirdExporter *BirdExporter `json:"birdExporter,omitempty"`
	// Multus gives pods further networks beside Calico's, which users define.
	// +optional
	Multus *Multus `json:"multus,omitempty"`
	// ServiceLoopPrevention decides what happens to a packet for an unused Service
	// address, which would otherwise circle between node and router: Disabled, Drop or
	// Reject.
	// Default: absent; Calico's own default is Drop.
	// Effect: FELIX_SERVICELOOPPREVENTION on calico-node.
	// +optional
	ServiceLoopPrevention *ServiceLoopPrevention `json:"serviceLoopPrevention,omitempty"`

	// IPIP is deprecated and has no effect. Use ipv4.mode.
	// Default: absent.
	// Effect: none. Trellis validates the value and ignores it, as Gardener's extension
	// does.
	// +optional
	IPIP *PoolMode `json:"ipip,omitempty"`
	// IPAutodetectionMethod is deprecated and has no effect. Use
	// ipv4.autoDetectionMethod.
	// Default: absent.
	// Effect: none. Trellis validates the value and ignores it, as Gardener's extension
	// does.
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
	// None leaves routes to the infrastructure.
	None Backend = "none"
	// VXLANBackend needs no routes: nodes reach each other through VXLAN.
	VXLANBackend Backend = "vxlan"
)

// IPAM configures how pods get their addresses.
type IPAM struct {
	// Type is host-local, which takes addresses from the node's own range, or
	// calico-ipam, which takes them from Calico's address pools. An empty string means
	// the default.
	// Default: host-local; calico-ipam with vxlan.enabled, which needs it.
	// Effect: ipam.type in the CNI configuration; with host-local USE_POD_CIDR on
	// calico-node and Typha.
	// Rule: The value cannot change while pods run, since each type ignores the
	// addresses that the other one has assigned. calico-ipam requires a network without
	// IPv6. It also requires an overlay, or overlay.createPodRoutes, where a cloud makes
	// routes, since these lead to the nodes' own ranges.
	// +optional
	// +kubebuilder:validation:Enum=host-local;calico-ipam;""
	Type IPAMType `json:"type,omitempty"`
	// CIDR is the range that host-local takes addresses from: usePodCIDR (in any letter
	// case) for the node's own pod range, or a range such as 100.96.0.0/24.
	// Default: usePodCidr; usePodCidrIPv6 in a network with IPv6 only (users must not
	// write this value).
	// Effect: ipam.subnet in the CNI configuration, spelt as the user wrote it. In
	// dual-stack: ipam.ranges with the node's two ranges.
	// Rule: With calico-ipam and in dual-stack the range has no effect, and usePodCidr
	// is in force.
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

// Placeholders for the node's own pod range, as the CNI configuration spells them.
const (
	// UsePodCIDR is the IPv4 range.
	UsePodCIDR = "usePodCidr"
	// UsePodCIDRIPv6 is the IPv6 range. Users also write UsePodCIDR for it.
	UsePodCIDRIPv6 = "usePodCidrIPv6"
)

// IPv4 configures the IPv4 address pool.
// +trellis:narrowed=pool;vxlan;mode;Always;Never
type IPv4 struct {
	// Pool is the encapsulation of the address pool that calico-node creates: ipip or
	// vxlan.
	// Default: ipip; vxlan with vxlan.enabled.
	// Effect: the name of the variable that carries ipv4.mode on calico-node:
	// CALICO_IPV4POOL_IPIP or CALICO_IPV4POOL_VXLAN. It does not change the address pool
	// that comes with overlay; vxlan.enabled does.
	// +optional
	Pool *Pool `json:"pool,omitempty"`
	// Mode decides which packets are encapsulated: Always, CrossSubnet (only packets
	// between subnets), Never, or Off, which means Never. With pool: vxlan it must be
	// Always or Never.
	// Default: Always; Never with backend none or overlay.enabled: false, except with
	// vxlan.enabled.
	// Effect: the value of the variable that ipv4.pool names.
	// Rule: overlay, if present, decides the mode, except in dual-stack, where it only
	// decides ipv6.mode.
	// +optional
	Mode *PoolMode `json:"mode,omitempty"`
	// AutoDetectionMethod decides how a node detects its own address: first-found,
	// kubernetes-internal-ip, can-reach=HOST, interface=REGEX, skip-interface=REGEX or
	// cidr=RANGE.
	// Default: absent; Calico takes the first address that it finds.
	// Effect: IP_AUTODETECTION_METHOD on calico-node.
	// Rule: If the Shoot has a range of nodes, cidr= with the ranges in its status, or
	// with this range, takes precedence.
	// +optional
	// +kubebuilder:example="interface=eth.*"
	// +trellis:pattern=`^($|first-found$|kubernetes-internal-ip$|can-reach={HOST}$|(interface|skip-interface)=[\s\S]|cidr={CIDR}$)`
	AutoDetectionMethod *string `json:"autoDetectionMethod,omitempty"`
}

// IPv6 configures the IPv6 address pool. A network with IPv6 always has this pool. It
// never encapsulates: IPv6 packets travel as they are.
// +trellis:narrowed=pool;vxlan;mode;Always;Never
type IPv6 struct {
	// Pool has no effect, since the IPv6 pool never encapsulates. The only value is
	// vxlan.
	// Default: vxlan.
	// Effect: the name of the variable with ipv6.mode on calico-node,
	// CALICO_IPV6POOL_VXLAN.
	// +optional
	Pool *IPv6Pool `json:"pool,omitempty"`
	// Mode has no effect, since the IPv6 pool never encapsulates: Always, CrossSubnet,
	// Never or Off; with pool, Always or Never.
	// Default: Never; Always with overlay.enabled: true.
	// Effect: CALICO_IPV6POOL_VXLAN on calico-node.
	// Rule: The default is always in force.
	// +optional
	Mode *PoolMode `json:"mode,omitempty"`
	// AutoDetectionMethod decides how a node detects its own IPv6 address: as
	// ipv4.autoDetectionMethod.
	// Default: absent; Calico takes the first address that it finds.
	// Effect: IP6_AUTODETECTION_METHOD on calico-node.
	// Rule: If the Shoot has a range of nodes, cidr= with the IPv6 ranges in its status
	// takes precedence.
	// +optional
	// +kubebuilder:example="interface=eth.*"
	// +trellis:pattern=`^($|first-found$|kubernetes-internal-ip$|can-reach={HOST}$|(interface|skip-interface)=[\s\S]|cidr={CIDR}$)`
	AutoDetectionMethod *string `json:"autoDetectionMethod,omitempty"`
	// SourceNATEnabled masquerades IPv6 packets that leave the pod network.
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

// PoolMode decides which packets are encapsulated.
// +kubebuilder:validation:Enum=Always;Never;CrossSubnet;Off
type PoolMode string

const (
	// Always encapsulates all packets between nodes.
	Always PoolMode = "Always"
	// Never encapsulates none.
	Never PoolMode = "Never"
	// CrossSubnet encapsulates what leaves the node's subnet.
	CrossSubnet PoolMode = "CrossSubnet"
	// Off means Never.
	Off PoolMode = "Off"
)

// Typha is a cache between the nodes and the API server, so that not every node watches
// the API server itself. It pays off from about 50 nodes.
type Typha struct {
	// Enabled runs Typha between the nodes and the API server.
	// Default: true.
	// Effect: Deployment calico-typha-deploy with its Service, budget and autoscalers;
	// typha_service_name in ConfigMap calico-config.
	// +optional
	Enabled bool `json:"enabled"`
}

// EBPFDataplane replaces iptables with eBPF programs.
type EBPFDataplane struct {
	// Enabled uses eBPF instead of iptables.
	// Default: false.
	// Effect: FELIX_BPFENABLED on calico-node, with the mounts that its programs need.
	// calico-node is then privileged, even with the feature gate
	// NonPrivilegedCalicoNode.
	// Rule: A Shoot without kube-proxy requires it.
	// +optional
	Enabled bool `json:"enabled"`
}

// Overlay decides whether packets between nodes are encapsulated.
type Overlay struct {
	// Enabled encapsulates all packets between nodes, with IP-in-IP, or with VXLAN if
	// vxlan.enabled is true. If it is false, no packet is encapsulated, and the
	// infrastructure must route the nodes' pod ranges.
	// Effect: true sets backend bird (vxlan with vxlan.enabled) and ipv4.mode Always.
	// false sets backend none and ipv4.mode Never, removes the former overlay's routes
	// and interfaces from the nodes, and lets nodes see pods' addresses.
	// Rule: On infrastructure without IP-in-IP, true means VXLAN, which changes
	// ipam.type; so there the change is forbidden in a running network. IPv6 packets are
	// never encapsulated. A new Shoot of a landscape must state the value on alicloud, aws,
	// azure, gcp and openstack, where Gardener's extension reads it.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// CreatePodRoutes lets Calico distribute the routes in a network without overlay.
	// All nodes must be in one layer 2 segment.
	// Default: false.
	// Effect: backend bird instead of none, if overlay.enabled is false.
	// +optional
	CreatePodRoutes *bool `json:"createPodRoutes,omitempty"`
}

// SnatToUpstreamDNS masquerades pods' requests to the nodes' name servers. Some
// infrastructures answer only requests from nodes' addresses.
type SnatToUpstreamDNS struct {
	// Enabled masquerades pods' requests to the nodes' name servers: they get the node's
	// address in place of the pod's.
	// Default: false; true with overlay.enabled: false. With an overlay, packets leave
	// with the node's address anyway.
	// Effect: container add-snat-rule-to-upstream-dns and FELIX_CHAININSERTMODE=Append
	// on calico-node.
	// Rule: While it is on, NetworkPolicies cannot block pods' requests to NodeLocalDNS. Pods
	// with dnsPolicy: Default do not send any.
	// +optional
	Enabled bool `json:"enabled"`
}

// AutoScaling configures the resource requests of Calico's workloads.
type AutoScaling struct {
	// Mode is cluster-proportional (requests grow with the number of nodes), static
	// (requests as in resources), or vpa (the vertical pod autoscaler sets requests).
	// Default: cluster-proportional.
	// Effect: cluster-proportional: Deployments calico-node-vertical-autoscaler and
	// calico-typha-vertical-autoscaler; vpa: VerticalPodAutoscalers calico-node and
	// calico-typha; static: none of them. Typha's number of replicas grows with the
	// cluster in every mode.
	// Rule: Without a vertical pod autoscaler in the Shoot, vpa means
	// cluster-proportional.
	Mode AutoScalingMode `json:"mode"`
	// Resources are the requests in mode static, and the minimum requests in mode vpa.
	// Rule: They have no effect in mode cluster-proportional.
	// +optional
	Resources *StaticResources `json:"resources,omitempty"`
}

// AutoScalingMode is a way to scale Calico's workloads.
// +kubebuilder:validation:Enum=cluster-proportional;vpa;static
type AutoScalingMode string

const (
	// ClusterProportional makes requests grow with the number of nodes.
	ClusterProportional AutoScalingMode = "cluster-proportional"
	// VPA leaves requests to the vertical pod autoscaler.
	VPA AutoScalingMode = "vpa"
	// Static takes the requests from the NetworkConfig.
	Static AutoScalingMode = "static"
)

// StaticResources are the requests in mode static, and the minimum requests in mode vpa:
// cpu and memory, each greater than zero. A resource that is absent keeps its default.
type StaticResources struct {
	// Node are the requests of container calico-node in mode static. In mode vpa they
	// are its first and its minimum requests.
	// Default: cpu 250m, memory 100Mi; in mode vpa there is no minimum.
	// Rule: The value must be greater than zero. With less than 10m of cpu or 16Mi of memory
	// agents do not start in time, of which Trellis warns.
	// +optional
	// +trellis:keys=cpu;memory
	// +trellis:positive
	Node corev1.ResourceList `json:"node,omitempty"`
	// Typha are the requests of Typha in mode static. In mode vpa they are its minimum
	// requests.
	// Default: cpu 200m, memory 100Mi; in mode vpa there is no minimum.
	// Rule: The value must be greater than zero. With less than 10m of cpu or 16Mi of memory
	// Typha does not start in time, of which Trellis warns. It has no effect without
	// typha.enabled.
	// +optional
	// +trellis:keys=cpu;memory
	// +trellis:positive
	Typha corev1.ResourceList `json:"typha,omitempty"`
}

// VXLAN uses VXLAN for the encapsulation instead of IP-in-IP.
type VXLAN struct {
	// Enabled encapsulates IPv4 packets with VXLAN instead of IP-in-IP.
	// Default: false; true with an overlay on infrastructure without IP-in-IP.
	// Effect: ipv4.pool vxlan and ipam.type calico-ipam; with overlay.enabled also
	// backend vxlan, an address pool with VXLAN, and Felix without IP-in-IP.
	// Rule: VXLAN requires calico-ipam, which takes precedence over ipam.type. So a
	// change of vxlan.enabled is forbidden in a running network, unless ipam.type is
	// calico-ipam before and after.
	// +optional
	Enabled bool `json:"enabled"`
}

// BirdExporter exports the metrics of BIRD.
type BirdExporter struct {
	// Enabled runs an exporter for the metrics of BIRD beside calico-node.
	// Default: false.
	// Effect: container bird-exporter in calico-node (only if calico-node is privileged)
	// and Service calico-bird-monitoring.
	// +optional
	Enabled bool `json:"enabled"`
}

// Multus gives pods further networks beside Calico's.
type Multus struct {
	// Enabled installs Multus.
	// Default: false.
	// Effect: DaemonSet multus, which calls Calico from the nodes' CNI configuration,
	// and the kind NetworkAttachmentDefinition, in which users define further networks.
	// Rule: Switching it off deletes the kind NetworkAttachmentDefinition, and with it
	// all of the users' objects of this kind.
	// +optional
	Enabled bool `json:"enabled"`
	// InstallCNIPlugins installs the CNI plugins that further networks use, except those
	// that Calico brings.
	// Default: false.
	// Effect: init container install-cni-plugins of DaemonSet multus.
	// Rule: It has no effect without multus.enabled.
	// +optional
	InstallCNIPlugins bool `json:"installCNIPlugins"`
}

// ServiceLoopPrevention decides what happens to a packet for an unused Service address.
// +kubebuilder:validation:Enum=Disabled;Drop;Reject
type ServiceLoopPrevention string

const (
	// ServiceLoopDisabled lets such packets circle.
	ServiceLoopDisabled ServiceLoopPrevention = "Disabled"
	// ServiceLoopDrop drops such packets.
	ServiceLoopDrop ServiceLoopPrevention = "Drop"
	// ServiceLoopReject answers such packets with an error.
	ServiceLoopReject ServiceLoopPrevention = "Reject"
)
