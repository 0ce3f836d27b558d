// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/flannel/v1alpha1"
)

// DescribeDataPath implements plugin.DataPathDescriber.
func (definition) DescribeDataPath(effective *v1alpha1.NetworkConfig) plugin.DataPath {
	path := plugin.DataPath{Packets: "no encapsulation", Router: "flannel", Lacks: "NetworkPolicies"}
	switch {
	case encapsulates(effective) && seenOutside(effective):
		path.Packets = "VXLAN between subnets, no encapsulation within one"
	case encapsulates(effective):
		path.Packets = "VXLAN between nodes"
	}
	return path
}
