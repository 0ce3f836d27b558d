// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// DescribeDataPath implements plugin.DataPathDescriber.
func (definition) DescribeDataPath(effective *v1alpha1.NetworkConfig) plugin.DataPath {
	path := plugin.DataPath{Packets: "no encapsulation"}
	switch encapsulation := encapsulationOf(effective); {
	case encapsulation == v1alpha1.VXLAN:
		path.Packets, path.Router = "VXLAN between nodes", agents
	case encapsulation == v1alpha1.Geneve:
		path.Packets, path.Router = "Geneve between nodes", agents
	case createsPodRoutes(effective):
		path.Router = agents
	case overlayOff(effective):
		path.Field = "overlay.enabled"
		path.Instead = []plugin.Edit{
			{Values: map[string]any{"overlay.enabled": true}},
			{Values: map[string]any{"overlay.createPodRoutes": true}, Where: "where all nodes are in one layer 2 segment"},
		}
	default:
		path.Field = "tunnel"
		path.Instead = []plugin.Edit{{Values: map[string]any{"tunnel": string(v1alpha1.VXLAN)}}}
	}
	if effective.Encryption != nil && encryptsWithWireGuard(effective) {
		path.Encryption = "WireGuard"
	}
	return path
}

// agents are what users know Cilium's DaemonSet as.
const agents = "Cilium's agents"
