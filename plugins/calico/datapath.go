// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// DescribeDataPath implements plugin.DataPathDescriber.
func (definition) DescribeDataPath(effective *v1alpha1.NetworkConfig) plugin.DataPath {
	encapsulation := encapsulationOf(effective)
	path := plugin.DataPath{Packets: "no encapsulation"}
	if encapsulation != unencapsulated {
		path.Packets = string(encapsulation) + " between nodes"
		if !overlayOn(effective) && *effective.IPv4.Mode == v1alpha1.CrossSubnet {
			path.Packets = string(encapsulation) + " between subnets, no encapsulation within one"
		}
		if hasIPv6(effective) {
			path.Packets += ", no encapsulation of IPv6"
		}
	}
	switch {
	case encapsulation == vxlan && hasIPv6(effective) && hasBackend(effective, v1alpha1.None):
		path.Router, path.Rest = "Felix", "those of IPv6"
	case encapsulation == vxlan:
		path.Router = "Felix"
	case hasBackend(effective, v1alpha1.Bird):
		path.Router = "BIRD"
	}
	if path.NeedsRoutes() {
		path.Field, path.Instead = ownRoutes(effective)
		if ipam := effective.IPAM; ipam != nil && ipam.Type == v1alpha1.CalicoIPAM {
			path.Strays = string(ipam.Type)
		}
	}
	if effective.WireguardEncryption != nil && *effective.WireguardEncryption {
		path.Encryption = "WireGuard"
	}
	return path
}

// ownRoutes returns what leaves the routes to the infrastructure, and what to write so that
// Calico makes them. A network with IPv6 has no overlay for it, so BIRD must make the routes.
func ownRoutes(c *v1alpha1.NetworkConfig) (at string, instead []plugin.Edit) {
	overlay := plugin.Edit{Values: map[string]any{"overlay.enabled": true}}
	bird := plugin.Edit{
		Values: map[string]any{"overlay.enabled": false, "overlay.createPodRoutes": true},
		Where:  "where all nodes are in one layer 2 segment",
	}
	switch {
	case hasIPv6(c) && c.Overlay == nil:
		return "overlay", []plugin.Edit{bird}
	case hasIPv6(c):
		return "overlay.enabled", []plugin.Edit{bird}
	case c.Overlay == nil:
		return "backend", []plugin.Edit{overlay, bird}
	default:
		return "overlay.enabled", []plugin.Edit{overlay, bird}
	}
}
