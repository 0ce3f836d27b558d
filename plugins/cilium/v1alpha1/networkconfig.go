// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NetworkConfig configures Cilium. All fields are optional. Users write it in
// spec.networking.providerConfig of a Shoot; gardenlet copies it to spec.providerConfig
// of the Network.
//
// A block that is present counts as written in full: overlay: {} switches the overlay
// off, and cni: {} allows other CNI configurations beside Cilium's.
type NetworkConfig struct {
	metav1.TypeMeta `json:",inline"`

	// Debug makes the agents and cilium-operator log in more detail.
	// Default: false.
	// Effect: key debug of ConfigMap cilium-config, and --debug of cilium-operator.
	// +optional
	Debug *bool `json:"debug,omitempty"`
	// KubeProxy is the address of the API server for cilium-operator in a Shoot without
	// kube-proxy.
	// Default: absent; cilium-operator uses the external address in the Shoot's
	// status.advertisedAddresses.
	// Rule: It only has an effect in a Shoot without kube-proxy, and with both host and
	// port.
	// +optional
	KubeProxy *KubeProxy `json:"kubeproxy,omitempty"`
	// Hubble records and shows the traffic between pods.
	// +optional
	Hubble *Hubble `json:"hubble,omitempty"`
	// TunnelMode is the encapsulation of packets between nodes: vxlan, geneve, or
	// disabled, which means none.
	// Default: vxlan.
	// Effect: keys routing-mode and tunnel-protocol.
	// Rule: overlay takes precedence: with overlay.enabled: false the tunnel is
	// disabled, and with overlay.enabled: true disabled becomes vxlan. With tunnel:
	// disabled and no overlay, agents only masquerade if ipv4NativeRoutingCIDREnabled is
	// true.
	// +optional
	TunnelMode *TunnelMode `json:"tunnel,omitempty"`
	// Store is the store of Cilium's state: kubernetes.
	// Default: absent, which also means kubernetes.
	// Effect: none.
	// +optional
	Store *Store `json:"store,omitempty"`
	// IPv4 shows whether the network has IPv4.
	// +optional
	IPv4 *IPv4 `json:"ipv4,omitempty"`
	// IPv6 shows whether the network has IPv6.
	// +optional
	IPv6 *IPv6 `json:"ipv6,omitempty"`
	// BPFSocketLBHostnsOnly leaves pods' connections to Services to a service mesh.
	// +optional
	BPFSocketLBHostnsOnly *BPFSocketLBHostnsOnly `json:"bpfSocketLBHostnsOnly,omitempty"`
	// CNI configures what Cilium does with other CNI configurations of a node.
	// +optional
	CNI *CNI `json:"cni,omitempty"`
	// EgressGateway sends the traffic of selected pods out of the cluster through
	// selected nodes, with these nodes' addresses.
	// +optional
	EgressGateway *EgressGateway `json:"egressGateway,omitempty"`
	// MTU is the MTU of the network between the nodes. With 0, Cilium detects it.
	// Default: 0.
	// Effect: key mtu, absent if 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:example=1450
	MTU *int `json:"mtu,omitempty"`
	// Devices are the network interfaces of the nodes on which Cilium handles Services,
	// masquerading and host policies. A name has at most 15 bytes, without slash and
	// white space; a + at its end matches any ending.
	// Default: absent; Cilium detects them.
	// Effect: key devices, the names separated by spaces.
	// +optional
	// +kubebuilder:validation:items:Pattern=`^[^/ \t\r\n]{1,15}$`
	// +kubebuilder:example={eth0,eth1}
	Devices []string `json:"devices,omitempty"`
	// DirectRoutingDevice is the network interface between the nodes, if packets are not
	// encapsulated.
	// Default: absent; Cilium detects it.
	// Effect: key direct-routing-device.
	// +optional
	// +kubebuilder:validation:Pattern=`^[^/ \t\r\n]{1,15}$`
	// +kubebuilder:example="eth0"
	DirectRoutingDevice *string `json:"directRoutingDevice,omitempty"`
	// LoadBalancingMode is how a node forwards a packet for a Service to another node:
	// snat (with its own address), dsr (with the client's address, so that the answer
	// takes the direct way), or hybrid (dsr for TCP, snat for UDP).
	// Default: snat.
	// Effect: key bpf-lb-mode.
	// Rule: dsr requires IPv4 and native routing: overlay.enabled: false or
	// ipv4NativeRoutingCIDREnabled. The mode has no effect with kube-proxy.
	// +optional
	LoadBalancingMode *LoadBalancingMode `json:"loadBalancingMode,omitempty"`
	// L2Announcements announces addresses of Services in the nodes' layer 2 network.
	// +optional
	L2Announcements *L2Announcements `json:"l2Announcements,omitempty"`
	// IPv4NativeRoutingCIDREnabled declares that the network between the nodes routes
	// the pods' IPv4 range, so that packets to it are not masqueraded.
	// Default: false; true with overlay.enabled: false.
	// Effect: key ipv4-native-routing-cidr, with the pods' range.
	// Rule: overlay, if present, decides. Without IPv4 the value is false.
	// +optional
	IPv4NativeRoutingCIDREnabled *bool `json:"ipv4NativeRoutingCIDREnabled,omitempty"`
	// IPv6NativeRoutingCIDREnabled declares that the network between the nodes routes
	// the pods' IPv6 range, so that packets to it are not masqueraded.
	// Default: false; true with overlay.enabled: false in a network with IPv6.
	// Effect: key ipv6-native-routing-cidr, with the first IPv6 range of the Shoot's
	// status.networking.pods.
	// Rule: overlay, if present, decides in a network with IPv6. The Shoot's status must
	// have an IPv6 range of pods.
	// +optional
	IPv6NativeRoutingCIDREnabled *bool `json:"ipv6NativeRoutingCIDREnabled,omitempty"`
	// Overlay decides whether packets between nodes are encapsulated, so that the
	// network between the nodes need not know pods' addresses. It has three states: on,
	// off, and absent. If it is absent, tunnel decides.
	// Default: absent. With the default of tunnel, packets are encapsulated with VXLAN. An
	// overlay that states nothing has enabled: false.
	// +optional
	Overlay *Overlay `json:"overlay,omitempty"`
	// SnatToUpstreamDNS masquerades pods' requests to the nodes' name servers.
	// +optional
	SnatToUpstreamDNS *SnatToUpstreamDNS `json:"snatToUpstreamDNS,omitempty"`
	// SnatOutOfCluster masquerades packets of pods that leave the cluster.
	// +optional
	SnatOutOfCluster *SnatOutOfCluster `json:"snatOutOfCluster,omitempty"`
	// EnableIPv4Masquerade masquerades IPv4 packets that leave the cluster: they get the
	// node's address in place of the pod's.
	// Default: true.
	// Effect: key enable-ipv4-masquerade.
	// Rule: Without IPv4 the value is false.
	// +optional
	EnableIPv4Masquerade *bool `json:"enableIpv4Masquerade,omitempty"`
	// EnableIPv6Masquerade masquerades IPv6 packets that leave the cluster: they get the
	// node's address in place of the pod's.
	// Default: false.
	// Effect: key enable-ipv6-masquerade.
	// +optional
	EnableIPv6Masquerade *bool `json:"enableIpv6Masquerade,omitempty"`
	// EnableBPFMasquerade masquerades with eBPF instead of iptables.
	// Default: true.
	// Effect: key enable-bpf-masquerade.
	// Rule: The value is false without IPv4, and with snatToUpstreamDNS or
	// snatOutOfCluster, which require iptables.
	// +optional
	EnableBPFMasquerade *bool `json:"enableBPFMasquerade,omitempty"`
	// BGPControlPlane announces routes to routers outside of the cluster.
	// +optional
	BGPControlPlane *BGPControlPlane `json:"bgpControlPlane,omitempty"`
	// PolicyAuditMode allows and reports the traffic that NetworkPolicies would block.
	// Default: false.
	// Effect: key policy-audit-mode.
	// +optional
	PolicyAuditMode *bool `json:"policyAuditMode,omitempty"`
	// Encryption encrypts traffic between nodes.
	// +optional
	Encryption *Encryption `json:"encryption,omitempty"`
}

// KubeProxy is the address of the API server for cilium-operator in a Shoot without
// kube-proxy.
type KubeProxy struct {
	// ServiceHost is the address of the API server for cilium-operator: an IP address or
	// a DNS name.
	// Default: absent.
	// Effect: KUBERNETES_SERVICE_HOST of cilium-operator.
	// Rule: It only has an effect in a Shoot without kube-proxy, and together with
	// k8sServicePort.
	// +optional
	// +kubebuilder:example="api.example.com"
	ServiceHost *string `json:"k8sServiceHost,omitempty"`
	// ServicePort is the port of the API server for cilium-operator.
	// Default: absent.
	// Effect: KUBERNETES_SERVICE_PORT of cilium-operator.
	// Rule: It only has an effect in a Shoot without kube-proxy, and together with
	// k8sServiceHost.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:example=443
	ServicePort *int32 `json:"k8sServicePort,omitempty"`
}

// Hubble records and shows the traffic between pods.
type Hubble struct {
	// Enabled makes agents record flows, and runs hubble-relay and hubble-ui, which show
	// them.
	// Default: false.
	// Effect: the keys hubble-… and enable-hubble, Deployments hubble-relay and
	// hubble-ui, and the job that creates their certificates.
	// +optional
	Enabled bool `json:"enabled"`
}

// TunnelMode is the encapsulation of packets between nodes.
// +kubebuilder:validation:Enum=vxlan;geneve;disabled
type TunnelMode string

const (
	// VXLAN encapsulates with VXLAN.
	VXLAN TunnelMode = "vxlan"
	// Geneve encapsulates with Geneve.
	Geneve TunnelMode = "geneve"
	// Disabled does not encapsulate: the network between the nodes knows pods'
	// addresses.
	Disabled TunnelMode = "disabled"
)

// Store is where Cilium keeps its state.
// +kubebuilder:validation:Enum=kubernetes
type Store string

// KubernetesStore is custom resources.
const KubernetesStore Store = "kubernetes"

// IPv4 shows whether the network has IPv4.
type IPv4 struct {
	// Enabled is true if the network has IPv4.
	// Default: true; false in a network without IPv4.
	// Effect: key enable-ipv4.
	// Rule: The IP families of the network always decide the value.
	// +optional
	Enabled bool `json:"enabled"`
}

// IPv6 shows whether the network has IPv6.
type IPv6 struct {
	// Enabled is true if the network has IPv6.
	// Default: false; true in a network with IPv6.
	// Effect: key enable-ipv6.
	// Rule: The IP families of the network always decide the value.
	// +optional
	Enabled bool `json:"enabled"`
}

// BPFSocketLBHostnsOnly leaves pods' connections to Services to a service mesh.
type BPFSocketLBHostnsOnly struct {
	// Enabled translates Services' addresses only in sockets of the node. Istio and
	// Linkerd require it, since they must see to which Service a pod connects.
	// Default: false.
	// Effect: key bpf-lb-sock-hostns-only.
	// Rule: It has no effect with kube-proxy.
	// +optional
	Enabled bool `json:"enabled"`
}

// CNI configures what Cilium does with other CNI configurations of a node.
type CNI struct {
	// Exclusive removes other CNI configurations from the nodes. Set it to false for a
	// CNI plugin that is chained to Cilium's, for example of a service mesh.
	// Default: true; false in a block cni without it.
	// Effect: key cni-exclusive.
	// +optional
	Exclusive bool `json:"exclusive"`
}

// EgressGateway sends the traffic of selected pods out of the cluster through selected
// nodes.
type EgressGateway struct {
	// Enabled enables CiliumEgressGatewayPolicies: selected pods leave the cluster
	// through selected nodes.
	// Default: false.
	// Effect: key enable-egress-gateway.
	// Rule: It requires a tunnel, masquerading of IPv4 with eBPF, and a Shoot without
	// kube-proxy.
	// +optional
	Enabled bool `json:"enabled"`
}

// LoadBalancingMode is how a node forwards packets for Services to another node.
// +kubebuilder:validation:Enum=snat;dsr;hybrid
type LoadBalancingMode string

const (
	// SNAT forwards them with the node's address.
	SNAT LoadBalancingMode = "snat"
	// DSR (direct server return) forwards them with the client's address.
	DSR LoadBalancingMode = "dsr"
	// Hybrid is DSR for TCP and SNAT for UDP.
	Hybrid LoadBalancingMode = "hybrid"
)

// L2Announcements announces addresses of Services in the nodes' layer 2 network.
type L2Announcements struct {
	// Enabled enables CiliumL2AnnouncementPolicies: nodes answer in their layer 2
	// network for addresses of Services.
	// Default: false.
	// Effect: key enable-l2-announcements, and agents' right to write Leases.
	// +optional
	Enabled bool `json:"enabled"`
	// LeaseDuration is the time after which another node may take over an address.
	// Default: 15s.
	// Effect: key l2-announcements-lease-duration.
	// Rule: It has no effect without l2Announcements.enabled.
	// +optional
	// +kubebuilder:example="15s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[-+]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$|^[-+]?0$`
	LeaseDuration *metav1.Duration `json:"leaseDuration,omitempty"`
	// LeaseRenewDeadline is the time for which a node tries to renew its lease.
	// Default: 5s.
	// Effect: key l2-announcements-renew-deadline.
	// Rule: It has no effect without l2Announcements.enabled. Nodes only answer if it is
	// shorter than leaseDuration.
	// +optional
	// +kubebuilder:example="5s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[-+]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$|^[-+]?0$`
	LeaseRenewDeadline *metav1.Duration `json:"leaseRenewDeadline,omitempty"`
	// LeaseRetryPeriod is the time between two tries.
	// Default: 2s.
	// Effect: key l2-announcements-retry-period.
	// Rule: It has no effect without l2Announcements.enabled. Nodes only answer if it is
	// clearly shorter than leaseRenewDeadline.
	// +optional
	// +kubebuilder:example="2s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[-+]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$|^[-+]?0$`
	LeaseRetryPeriod *metav1.Duration `json:"leaseRetryPeriod,omitempty"`
}

// Overlay decides whether packets between nodes are encapsulated.
type Overlay struct {
	// Enabled encapsulates all packets between nodes. If it is false, no packet is
	// encapsulated, and the infrastructure must route the nodes' pod ranges.
	// Effect: true sets tunnel vxlan or geneve, and no native routing CIDR. false sets
	// tunnel disabled, and the native routing CIDR of each family.
	// Rule: A new Shoot of a landscape must state the value on aws, gcp and openstack, where
	// Gardener's extension reads it.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// CreatePodRoutes makes agents create the routes to other nodes' pods in a network
	// without overlay. All nodes must be in one layer 2 segment.
	// Default: false.
	// Effect: key auto-direct-node-routes.
	// Rule: With overlay.enabled: true the value is false.
	// +optional
	CreatePodRoutes *bool `json:"createPodRoutes,omitempty"`
}

// SnatToUpstreamDNS masquerades pods' requests to the nodes' name servers. Some
// infrastructures answer only requests from nodes' addresses.
type SnatToUpstreamDNS struct {
	// Enabled masquerades pods' requests to the nodes' IPv4 name servers: they get the
	// node's address in place of the pod's.
	// Default: false.
	// Effect: container add-snat-rule-to-upstream-dns of the agents.
	// Rule: It takes precedence over enableBPFMasquerade: iptables masquerades.
	// +optional
	Enabled bool `json:"enabled"`
}

// SnatOutOfCluster masquerades packets of pods that leave the cluster.
type SnatOutOfCluster struct {
	// Enabled masquerades IPv4 packets of pods to neither pods nor nodes: they get the
	// node's address in place of the pod's.
	// Default: false.
	// Effect: container add-snat-rule-to-outside-world of the agents.
	// Rule: It takes precedence over enableBPFMasquerade: iptables masquerades.
	// +optional
	Enabled bool `json:"enabled"`
}

// BGPControlPlane announces routes to routers outside of the cluster.
type BGPControlPlane struct {
	// Enabled enables CiliumBGPClusterConfigs: agents announce routes to routers outside
	// of the cluster.
	// Default: false.
	// Effect: key enable-bgp-control-plane.
	// +optional
	Enabled bool `json:"enabled"`
}

// Encryption encrypts traffic between nodes.
type Encryption struct {
	// Enabled encrypts traffic of pods on its way to another node, as mode says.
	// Default: false.
	// Effect: the keys of encryption.mode.
	// +optional
	Enabled bool `json:"enabled"`
	// Mode is the encryption: wireguard.
	// Default: absent, which encrypts nothing.
	// Effect: keys enable-wireguard and wireguard-persistent-keepalive.
	// Rule: ipsec is refused, and any other value encrypts nothing.
	// +optional
	// +kubebuilder:example="wireguard"
	Mode EncryptionMode `json:"mode,omitempty"`
	// NodeToNodeEnabled also encrypts the traffic of the nodes themselves.
	// Default: false.
	// Effect: key encrypt-node.
	// Rule: It has no effect without encryption.enabled.
	// +optional
	NodeToNodeEnabled bool `json:"nodeToNodeEnabled"`
	// StrictMode drops IPv4 packets for pods of other nodes that would not be encrypted.
	// Default: false.
	// Effect: keys enable-encryption-strict-mode and encryption-strict-mode-….
	// Rule: It requires mode wireguard, and has no effect without encryption.enabled.
	// +optional
	StrictMode bool `json:"strictMode"`
}

// EncryptionMode is how traffic between nodes is encrypted.
type EncryptionMode string

const (
	// WireGuard encrypts with WireGuard.
	WireGuard EncryptionMode = "wireguard"
	// IPsec is refused, since it never worked in Gardener's extension.
	IPsec EncryptionMode = "ipsec"
)
