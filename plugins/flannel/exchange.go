// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/flannel/v1alpha1"
)

// Exchange lets a network without encapsulation give way to another type, and take its place: flannel then makes
// the routes to the ranges of all Nodes that have its annotations, which stay after the daemon has ended.
func (definition) Exchange(effective *v1alpha1.NetworkConfig, _ *plugin.Input, path *field.Path) plugin.Exchange {
	exchange := plugin.Exchange{Remnants: plugin.Remnants{
		Image:      "flannel",
		Files:      []string{"/etc/cni/net.d/10-flannel.conflist", "/run/flannel/subnet.env", "/var/lib/cni/flannel", "/var/lib/cni/networks/cbr0"},
		Interfaces: []string{"cni0", "flannel.1", "flannel-v6.1"},
		Chains:     []string{"FLANNEL-"},
		Tables:     []string{"ip flannel-ipv4", "ip6 flannel-ipv6"},
	}}
	if encapsulates(effective) {
		exchange.Obstacles = append(exchange.Obstacles, field.Forbidden(path.Child("backend", "type"),
			"must be host-gw while the type of the network changes, since no other network understands flannel's packets; a change of it is made in steps"))
	}
	return exchange
}

// RouteNatively has flannel send packets as they are. What only VXLAN has is no setting of host-gw.
func (definition) RouteNatively(written *v1alpha1.NetworkConfig) {
	written.Backend = &v1alpha1.Backend{Type: new(v1alpha1.HostGateway)}
}
