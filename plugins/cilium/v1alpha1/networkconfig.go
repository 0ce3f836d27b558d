// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NetworkConfig says how Cilium is to make the pod network. Everything is
// optional. It stands in Shoot.spec.networking.providerConfig and travels to
// Network.spec.providerConfig unchanged.
//
// A block that is present counts as written in full: overlay: {} is an overlay
// that is switched off, cni: {} a CNI configuration beside which others may stand.
type NetworkConfig struct {
	metav1.TypeMeta `json:",inline"`

	// Debug lets agents and operator log in more detail.
	// Default: false.
	// Effect: key debug of ConfigMap cilium-config, and --debug of cilium-operator.
	// +optional
	Debug *bool `json:"debug,omitempty"`
	// KubeProxy says how cilium-operator reaches the API server where there is no
	// kube-proxy.
	// Default: absent; it then uses the external address that the Shoot's
	// status.advertisedAddresses tells.
	// Rule: it is in force in a Shoot without kube-proxy only, and with both host and
	// port.
	// +optional
	KubeProxy *KubeProxy `json:"kubeproxy,omitempty"`
	// Hubble shows who talks to whom.
	// +optional
	Hubble *Hubble `json:"hubble,omitempty"`
	// TunnelMode is how packets between nodes are encapsulated: vxlan, geneve, or
	// disabled, which does not encapsulate them.
	// Default: vxlan.
	// Effect: keys routing-mode and tunnel-protocol.
	// Rule: overlay.enabled: false means disabled, whatever is written here;
	// overlay.enabled: true makes vxlan of disabled. In a network that has neither
	// overlay nor a tunnel, ipv4NativeRoutingCIDREnabled must be true for agents to
	// masquerade.
	// +optional
	TunnelMode *TunnelMode `json:"tunnel,omitempty"`
	// Store is where Cilium keeps its state: kubernetes.
	// Default: absent, which means the same.
	// Effect: none.
	// +optional
	Store *Store `json:"store,omitempty"`
	// IPv4 says whether the network has IPv4.
	// +optional
	IPv4 *IPv4 `json:"ipv4,omitempty"`
	// IPv6 says whether the network has IPv6.
	// +optional
	IPv6 *IPv6 `json:"ipv6,omitempty"`
	// BPFSocketLBHostnsOnly leaves connections that pods open to Services to what
	// stands between the pods and their node, for example a service mesh.
	// +optional
	BPFSocketLBHostnsOnly *BPFSocketLBHostnsOnly `json:"bpfSocketLBHostnsOnly,omitempty"`
	// CNI says what Cilium does with other CNI configurations of a node.
	// +optional
	CNI *CNI `json:"cni,omitempty"`
	// EgressGateway lets pods that a CiliumEgressGatewayPolicy selects leave the
	// cluster through chosen nodes, with these nodes' addresses.
	// +optional
	EgressGateway *EgressGateway `json:"egressGateway,omitempty"`
	// MTU is the MTU of the network between the nodes: at most 65535. 0 lets Cilium
	// find out.
	// Default: 0.
	// Effect: key mtu, which is absent for 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:example=1450
	MTU *int `json:"mtu,omitempty"`
	// Devices are the network interfaces of the nodes on which Cilium handles
	// traffic of Services, masquerading and the host's policies. Each name is at most
	// 15 bytes long, without slash and white space; a + at its end matches any
	// ending.
	// Default: absent; Cilium then finds out.
	// Effect: key devices, the names separated by blanks.
	// +optional
	// +kubebuilder:validation:items:Pattern=`^[^/ \t\r\n]{1,15}$`
	// +kubebuilder:example={eth0,eth1}
	Devices []string `json:"devices,omitempty"`
	// DirectRoutingDevice is the network interface through which nodes reach each
	// other where packets are not encapsulated.
	// Default: absent; Cilium then finds out.
	// Effect: key direct-routing-device.
	// +optional
	// +kubebuilder:validation:Pattern=`^[^/ \t\r\n]{1,15}$`
	// +kubebuilder:example="eth0"
	DirectRoutingDevice *string `json:"directRoutingDevice,omitempty"`
	// LoadBalancingMode is how a node passes on a packet to a Service whose pod is on
	// another node: snat, with its own address, dsr, with the client's address, so that
	// the answer goes to the client directly, or hybrid, dsr for TCP and snat for UDP.
	// Default: snat.
	// Effect: key bpf-lb-mode.
	// Rule: dsr needs ipv4NativeRoutingCIDREnabled or overlay.enabled: false, and
	// IPv4.
	// +optional
	LoadBalancingMode *LoadBalancingMode `json:"loadBalancingMode,omitempty"`
	// L2Announcements answers in the nodes' layer 2 network for addresses of Services.
	// +optional
	L2Announcements *L2Announcements `json:"l2Announcements,omitempty"`
	// IPv4NativeRoutingCIDREnabled says that the network between the nodes routes the
	// pods' IPv4 range, so that packets to it are not masqueraded.
	// Default: false; true with overlay.enabled: false.
	// Effect: key ipv4-native-routing-cidr, with the pods' range.
	// Rule: wherever overlay is present, it decides. Without IPv4 it is false.
	// +optional
	IPv4NativeRoutingCIDREnabled *bool `json:"ipv4NativeRoutingCIDREnabled,omitempty"`
	// IPv6NativeRoutingCIDREnabled says that the network between the nodes routes the
	// pods' IPv6 range, so that packets to it are not masqueraded.
	// Default: false; true with overlay.enabled: false in a network with IPv6.
	// Effect: key ipv6-native-routing-cidr, with the first IPv6 range of the Shoot's
	// status.networking.pods.
	// Rule: wherever overlay is present in a network with IPv6, it decides. There must
	// be such a range.
	// +optional
	IPv6NativeRoutingCIDREnabled *bool `json:"ipv6NativeRoutingCIDREnabled,omitempty"`
	// Overlay says whether packets between nodes are encapsulated, that is, travel
	// inside packets of the nodes, so that the network between the nodes need not
	// know pods' addresses. It has three states: on, off, and absent, which leaves the
	// decision to tunnel.
	// Default: absent. With the default of tunnel packets are then encapsulated with
	// VXLAN.
	// +optional
	Overlay *Overlay `json:"overlay,omitempty"`
	// SnatToUpstreamDNS masquerades pods' requests to the nodes' name servers.
	// +optional
	SnatToUpstreamDNS *SnatToUpstreamDNS `json:"snatToUpstreamDNS,omitempty"`
	// SnatOutOfCluster masquerades what pods send to neither pods nor nodes.
	// +optional
	SnatOutOfCluster *SnatOutOfCluster `json:"snatOutOfCluster,omitempty"`
	// EnableIPv4Masquerade sends IPv4 packets that leave the cluster with the node's
	// address in place of the pod's.
	// Default: true.
	// Effect: key enable-ipv4-masquerade.
	// Rule: without IPv4 it is false.
	// +optional
	EnableIPv4Masquerade *bool `json:"enableIpv4Masquerade,omitempty"`
	// EnableIPv6Masquerade sends IPv6 packets that leave the cluster with the node's
	// address in place of the pod's.
	// Default: false.
	// Effect: key enable-ipv6-masquerade.
	// +optional
	EnableIPv6Masquerade *bool `json:"enableIpv6Masquerade,omitempty"`
	// EnableBPFMasquerade masquerades with eBPF instead of iptables.
	// Default: true.
	// Effect: key enable-bpf-masquerade.
	// Rule: without IPv4, and with snatToUpstreamDNS or snatOutOfCluster, which add to
	// the rules in iptables, it is false, and the key is absent.
	// +optional
	EnableBPFMasquerade *bool `json:"enableBPFMasquerade,omitempty"`
	// BGPControlPlane announces routes to routers outside the cluster.
	// +optional
	BGPControlPlane *BGPControlPlane `json:"bgpControlPlane,omitempty"`
	// PolicyAuditMode only reports what NetworkPolicies would block, and lets it pass.
	// Default: false.
	// Effect: key policy-audit-mode.
	// +optional
	PolicyAuditMode *bool `json:"policyAuditMode,omitempty"`
	// Encryption encrypts traffic between nodes.
	// +optional
	Encryption *Encryption `json:"encryption,omitempty"`
}

// KubeProxy says how cilium-operator reaches the API server where there is no
// kube-proxy.
type KubeProxy struct {
	// ServiceHost is the API server's address: an IP address or a DNS name.
	// Default: absent.
	// Effect: KUBERNETES_SERVICE_HOST of cilium-operator.
	// Rule: it is in force in a Shoot without kube-proxy only, and together with
	// k8sServicePort.
	// +optional
	// +kubebuilder:example="api.example.com"
	ServiceHost *string `json:"k8sServiceHost,omitempty"`
	// ServicePort is the API server's port.
	// Default: absent.
	// Effect: KUBERNETES_SERVICE_PORT of cilium-operator.
	// Rule: it is in force in a Shoot without kube-proxy only, and together with
	// k8sServiceHost.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:example=443
	ServicePort *int32 `json:"k8sServicePort,omitempty"`
}

// Hubble shows who talks to whom.
type Hubble struct {
	// Enabled says whether agents record flows, and whether hubble-relay and hubble-ui
	// run.
	// Default: false.
	// Effect: the keys hubble-… and enable-hubble, Deployments hubble-relay and
	// hubble-ui, and what makes their certificates.
	// +optional
	Enabled bool `json:"enabled"`
}

// TunnelMode is how packets between nodes are encapsulated.
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

// KubernetesStore keeps it in custom resources.
const KubernetesStore Store = "kubernetes"

// IPv4 says whether the network has IPv4.
type IPv4 struct {
	// Enabled says whether the network has IPv4.
	// Effect: key enable-ipv4.
	// Rule: the network's IP families always decide it.
	// +optional
	Enabled bool `json:"enabled"`
}

// IPv6 says whether the network has IPv6.
type IPv6 struct {
	// Enabled says whether the network has IPv6.
	// Effect: key enable-ipv6.
	// Rule: the network's IP families always decide it.
	// +optional
	Enabled bool `json:"enabled"`
}

// BPFSocketLBHostnsOnly leaves connections that pods open to Services to what stands
// between the pods and their node.
type BPFSocketLBHostnsOnly struct {
	// Enabled says whether Services' addresses are translated in sockets of the node
	// only. Istio and Linkerd need that: they must see which Service a pod talks to.
	// Default: false.
	// Effect: key bpf-lb-sock-hostns-only.
	// Rule: it means something without kube-proxy only, since nothing is translated in
	// sockets otherwise.
	// +optional
	Enabled bool `json:"enabled"`
}

// CNI says what Cilium does with other CNI configurations of a node.
type CNI struct {
	// Exclusive says whether Cilium puts others out of the way. False leaves them, for
	// those that are chained to Cilium's, for example of a service mesh.
	// Default: true; a block without it means false.
	// Effect: key cni-exclusive.
	// +optional
	Exclusive bool `json:"exclusive"`
}

// EgressGateway lets chosen pods leave the cluster through chosen nodes.
type EgressGateway struct {
	// Enabled says whether CiliumEgressGatewayPolicies are carried out.
	// Default: false.
	// Effect: key enable-egress-gateway.
	// Rule: it needs a tunnel, masquerading of IPv4 with eBPF, and a Shoot without
	// kube-proxy.
	// +optional
	Enabled bool `json:"enabled"`
}

// LoadBalancingMode is how a node passes on packets to Services.
// +kubebuilder:validation:Enum=snat;dsr;hybrid
type LoadBalancingMode string

const (
	// SNAT passes them on with the node's address.
	SNAT LoadBalancingMode = "snat"
	// DSR (direct server return) passes them on with the client's address.
	DSR LoadBalancingMode = "dsr"
	// Hybrid is DSR for TCP and SNAT for UDP.
	Hybrid LoadBalancingMode = "hybrid"
)

// L2Announcements answers in the nodes' layer 2 network for addresses of Services.
type L2Announcements struct {
	// Enabled says whether CiliumL2AnnouncementPolicies are carried out.
	// Default: false.
	// Effect: key enable-l2-announcements, and that agents may write Leases.
	// +optional
	Enabled bool `json:"enabled"`
	// LeaseDuration is how long a node answers for a Service before others may take
	// over.
	// Default: 15s.
	// Effect: key l2-announcements-lease-duration.
	// Rule: it means nothing without l2Announcements.enabled.
	// +optional
	// +kubebuilder:example="15s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[-+]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$|^[-+]?0$`
	LeaseDuration *metav1.Duration `json:"leaseDuration,omitempty"`
	// LeaseRenewDeadline is how long a node tries to renew its lease before it gives
	// up.
	// Default: 5s.
	// Effect: key l2-announcements-renew-deadline.
	// Rule: it means nothing without l2Announcements.enabled. It must be shorter than
	// leaseDuration for nodes to answer.
	// +optional
	// +kubebuilder:example="5s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[-+]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$|^[-+]?0$`
	LeaseRenewDeadline *metav1.Duration `json:"leaseRenewDeadline,omitempty"`
	// LeaseRetryPeriod is how long a node waits before it tries again.
	// Default: 2s.
	// Effect: key l2-announcements-retry-period.
	// Rule: it means nothing without l2Announcements.enabled. It must be clearly
	// shorter than leaseRenewDeadline for nodes to answer.
	// +optional
	// +kubebuilder:example="2s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[-+]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$|^[-+]?0$`
	LeaseRetryPeriod *metav1.Duration `json:"leaseRetryPeriod,omitempty"`
}

// Overlay says whether packets between nodes are encapsulated.
type Overlay struct {
	// Enabled true encapsulates everything between nodes. False encapsulates nothing:
	// somebody must make the routes to the nodes' pod ranges.
	// Effect: true gives tunnel vxlan or geneve, and no native routing CIDR; false
	// gives tunnel disabled, and the native routing CIDR of each family.
	// +optional
	Enabled bool `json:"enabled"`
	// CreatePodRoutes makes the agents create the routes to other nodes' pods in a
	// network without overlay. All nodes must be in one layer 2 segment.
	// Default: false.
	// Effect: key auto-direct-node-routes.
	// Rule: with overlay.enabled: true it is false.
	// +optional
	CreatePodRoutes *bool `json:"createPodRoutes,omitempty"`
}

// SnatToUpstreamDNS masquerades pods' requests to the nodes' name servers, which
// some infrastructures answer for nodes' addresses only.
type SnatToUpstreamDNS struct {
	// Enabled says whether these requests are masqueraded: sent with the node's
	// address in place of the pod's. It is for IPv4.
	// Default: false.
	// Effect: container add-snat-rule-to-upstream-dns of the agents.
	// Rule: masquerading is done by iptables then, whatever enableBPFMasquerade says.
	// +optional
	Enabled bool `json:"enabled"`
}

// SnatOutOfCluster masquerades what pods send to neither pods nor nodes.
type SnatOutOfCluster struct {
	// Enabled says whether that is masqueraded: sent with the node's address in place
	// of the pod's. It is for IPv4.
	// Default: false.
	// Effect: container add-snat-rule-to-outside-world of the agents.
	// Rule: masquerading is done by iptables then, whatever enableBPFMasquerade says.
	// +optional
	Enabled bool `json:"enabled"`
}

// BGPControlPlane announces routes to routers outside the cluster.
type BGPControlPlane struct {
	// Enabled says whether CiliumBGPClusterConfigs are carried out.
	// Default: false.
	// Effect: key enable-bgp-control-plane.
	// +optional
	Enabled bool `json:"enabled"`
}

// Encryption encrypts traffic between nodes.
type Encryption struct {
	// Enabled says whether traffic of pods is encrypted on its way to another node.
	// Default: false.
	// Effect: what mode says.
	// +optional
	Enabled bool `json:"enabled"`
	// Mode is how: wireguard.
	// Default: absent, which encrypts nothing.
	// Effect: keys enable-wireguard and wireguard-persistent-keepalive.
	// Rule: other modes encrypt nothing, and ipsec is refused.
	// +optional
	// +kubebuilder:example="wireguard"
	Mode EncryptionMode `json:"mode,omitempty"`
	// NodeToNodeEnabled also encrypts what nodes send to each other.
	// Default: false.
	// Effect: key encrypt-node.
	// Rule: it means nothing without encryption.enabled.
	// +optional
	NodeToNodeEnabled bool `json:"nodeToNodeEnabled"`
	// StrictMode drops what would leave a node in the clear for a pod.
	// Default: false.
	// Effect: keys enable-encryption-strict-mode and encryption-strict-mode-….
	// Rule: it needs mode wireguard, and means nothing without encryption.enabled.
	// +optional
	StrictMode bool `json:"strictMode"`
}

// EncryptionMode is how traffic between nodes is encrypted.
type EncryptionMode string

const (
	// WireGuard encrypts with WireGuard.
	WireGuard EncryptionMode = "wireguard"
	// IPsec is refused: it never worked in Gardener's extension.
	IPsec EncryptionMode = "ipsec"
)
