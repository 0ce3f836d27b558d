// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// ciliumKinds and ciliumAlphaKinds are the groups and versions of what users tell Cilium.
var (
	ciliumKinds      = schema.GroupVersion{Group: "cilium.io", Version: "v2"}
	ciliumAlphaKinds = schema.GroupVersion{Group: "cilium.io", Version: "v2alpha1"}
)

// Exchange lets a network whose routes the infrastructure makes give way to another type, and take its place. Agents
// make routes to nodes with agents only, and no other network understands Cilium's tunnels. Pods on nodes
// without agents have no identity, so that rules which select pods do not match them.
func (definition) Exchange(effective *v1alpha1.NetworkConfig, in *plugin.Input, path *field.Path) plugin.Exchange {
	exchange := plugin.Exchange{
		Kinds: []schema.GroupVersionKind{
			networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
			ciliumKinds.WithKind("CiliumNetworkPolicy"), ciliumKinds.WithKind("CiliumClusterwideNetworkPolicy"),
			ciliumKinds.WithKind("CiliumLocalRedirectPolicy"), ciliumKinds.WithKind("CiliumEgressGatewayPolicy"),
			ciliumKinds.WithKind("CiliumEnvoyConfig"), ciliumKinds.WithKind("CiliumClusterwideEnvoyConfig"),
			ciliumKinds.WithKind("CiliumBGPClusterConfig"), ciliumKinds.WithKind("CiliumLoadBalancerIPPool"),
			ciliumAlphaKinds.WithKind("CiliumL2AnnouncementPolicy"),
		},
		KnowsOwnPodsOnly: true,
		Remnants: plugin.Remnants{
			Image: "cilium-agent",
			Files: []string{
				"/etc/cni/net.d/05-cilium.conflist", "/etc/sysctl.d/99-cilium-rp-filter.conf", "/etc/sysctl.d/99-zzz-override_cilium.conf",
				"/sys/fs/bpf/cilium", "/sys/fs/bpf/tc/globals/cilium_*", "/run/cilium",
			},
			Mounts:     []string{"/run/cilium/cgroupv2"},
			Interfaces: []string{"cilium_host", "cilium_net", "cilium_vxlan", "cilium_geneve", "lxc_health"},
			Programs:   []string{"cil_"},
			Chains:     []string{"CILIUM_", "OLD_CILIUM_"},
			Comments:   []string{"cilium"},
			Sets:       []string{"cilium_"},
			// Packets to and from Cilium's proxy.
			RouteTables: []int{2004, 2005},
		},
	}
	forbid := func(at *field.Path, must string) {
		exchange.Obstacles = append(exchange.Obstacles, field.Forbidden(at, must))
	}
	if route := (definition{}).DescribeDataPath(effective); !route.NeedsRoutes() {
		at := path.Child("overlay", "enabled")
		if effective.Overlay == nil {
			at = path.Child("tunnel")
		}
		forbid(at, "packets must travel without encapsulation while the type of the network changes, over routes that the infrastructure makes: set overlay.enabled: false, without overlay.createPodRoutes")
	}
	if mode := ipamMode(in); mode != kubernetesIPAM {
		forbid(path, "leads to the IPAM "+mode+", and pods of both networks need addresses of their node's range; create a new cluster")
	}
	if isEncrypted(effective) {
		forbid(path.Child("encryption", "enabled"), "must be false while the type of the network changes, since no other network understands WireGuard's packets")
	}
	return exchange
}
