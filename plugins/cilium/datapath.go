// SPDX-License-Identifier: Apache-2.0

package cilium

import "github.com/trellis-network/trellis/plugins/cilium/v1alpha1"

// DescribeDataPath implements plugin.DataPathDescriber.
func (definition) DescribeDataPath(effective *v1alpha1.NetworkConfig) string {
	path := "no encapsulation; routes by the infrastructure"
	switch encapsulationOf(effective) {
	case v1alpha1.VXLAN:
		path = "VXLAN between nodes; routes by Cilium's agents"
	case v1alpha1.Geneve:
		path = "Geneve between nodes; routes by Cilium's agents"
	default:
		if createsPodRoutes(effective) {
			path = "no encapsulation; routes by Cilium's agents"
		}
	}
	if effective.Encryption != nil && encryptsWithWireGuard(effective) {
		path += "; encrypted with WireGuard"
	}
	return path
}
