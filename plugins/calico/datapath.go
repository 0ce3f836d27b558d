// SPDX-License-Identifier: Apache-2.0

package calico

import "github.com/trellis-network/trellis/plugins/calico/v1alpha1"

// DescribeDataPath implements plugin.DataPathDescriber.
func (definition) DescribeDataPath(effective *v1alpha1.NetworkConfig) string {
	encapsulation := encapsulationOf(effective)
	path := "no encapsulation"
	if encapsulation != unencapsulated {
		path = string(encapsulation) + " between nodes"
		if !overlayOn(effective) && *effective.IPv4.Mode == v1alpha1.CrossSubnet {
			path = string(encapsulation) + " between subnets, no encapsulation within one"
		}
		if hasIPv6(effective) {
			path += ", no encapsulation of IPv6"
		}
	}
	switch {
	case encapsulation == vxlan && hasIPv6(effective) && hasBackend(effective, v1alpha1.None):
		path += "; routes by Felix, those of IPv6 by the infrastructure"
	case encapsulation == vxlan:
		path += "; routes by Felix"
	case hasBackend(effective, v1alpha1.Bird):
		path += "; routes by BIRD"
	default:
		path += "; routes by the infrastructure"
	}
	if effective.WireguardEncryption != nil && *effective.WireguardEncryption {
		path += "; encrypted with WireGuard"
	}
	return path
}
