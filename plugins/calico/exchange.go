// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// calicoKinds and policyKinds are the groups and versions of what Calico enforces.
var (
	calicoKinds = schema.GroupVersion{Group: "crd.projectcalico.org", Version: "v1"}
	policyKinds = schema.GroupVersion{Group: "policy.networking.k8s.io", Version: "v1alpha1"}
)

// Exchange lets a network whose routes the infrastructure makes give way to another type, and take its place. BIRD's
// routes lead to no node without BIRD, and no other network understands Calico's tunnels.
func (definition) Exchange(effective *v1alpha1.NetworkConfig, _ *plugin.Input, path *field.Path) plugin.Exchange {
	exchange := plugin.Exchange{
		Kinds: []schema.GroupVersionKind{
			networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), calicoKinds.WithKind("NetworkPolicy"), calicoKinds.WithKind("GlobalNetworkPolicy"),
			policyKinds.WithKind("AdminNetworkPolicy"), policyKinds.WithKind("BaselineAdminNetworkPolicy"),
			calicoKinds.WithKind("HostEndpoint"), calicoKinds.WithKind("BGPPeer"),
		},
		Remnants: plugin.Remnants{
			Image: "calico-node",
			Files: []string{
				"/etc/cni/net.d/10-calico.conflist", "/etc/cni/net.d/calico-kubeconfig", "/var/lib/calico", "/var/lib/cni/networks/k8s-pod-network",
			},
			Interfaces: []string{"vxlan.calico", "vxlan-v6.calico"},
			Chains:     []string{"cali-"},
			// The scripts of calico-node's pod write rules as well.
			Comments: []string{"cali:", "calico masquerade non-cluster", "gardener log mtu problems for ipv"},
			Sets:     []string{"cali"},
			Tables:   []string{"ip calico", "ip6 calico"},
		},
	}
	forbid := func(at, must string) {
		exchange.Obstacles = append(exchange.Obstacles, field.Forbidden(path.Child(strings.Split(at, ".")[0], strings.Split(at, ".")[1:]...), must))
	}
	isOn := func(value *bool) bool { return value != nil && *value }
	if route := (definition{}).DescribeDataPath(effective); !route.NeedsRoutes() {
		forbid("overlay.enabled", "must be false while the type of the network changes, and overlay.createPodRoutes too: the nodes of both networks reach each other only by routes that the infrastructure makes")
	}
	ranges := effective.IPAM.CIDR
	if effective.IPAM.Type != v1alpha1.HostLocal || ranges == nil || !strings.EqualFold(*ranges, v1alpha1.UsePodCIDR) && *ranges != v1alpha1.UsePodCIDRIPv6 {
		forbid("ipam.type", "must be host-local, with ipam.cidr: usePodCidr, for the type of the network to change: pods of both networks need addresses of their node's range; create a new cluster")
	}
	if isOn(effective.WireguardEncryption) {
		forbid("wireguardEncryption", "must be false while the type of the network changes, since no other network understands the packets")
	}
	if effective.EBPFDataplane.Enabled {
		forbid("ebpfDataplane.enabled", "must be false while the type of the network changes: kube-proxy serves Services on all nodes then")
	}
	if effective.Multus.Enabled {
		forbid("multus.enabled", "must be false while the type of the network changes, since no other network gives pods further interfaces")
	}
	return exchange
}
