// SPDX-License-Identifier: Apache-2.0

package flannel

import "github.com/trellis-network/trellis/plugins/flannel/v1alpha1"

// DescribeDataPath implements plugin.DataPathDescriber.
func (definition) DescribeDataPath(effective *v1alpha1.NetworkConfig) string {
	path := "no encapsulation"
	switch {
	case encapsulates(effective) && seenOutside(effective):
		path = "VXLAN between subnets, no encapsulation within one"
	case encapsulates(effective):
		path = "VXLAN between nodes"
	}
	return path + "; routes by flannel"
}
