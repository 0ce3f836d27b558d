// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// defaulting makes one config effective.
type defaulting struct {
	config  *v1alpha1.NetworkConfig
	in      *plugin.Input
	origins *plugin.Origins
}

// Default makes config what is in force.
func (definition) Default(config *v1alpha1.NetworkConfig, in *plugin.Input, origins *plugin.Origins) {
	d := &defaulting{config, in, origins}
	for _, each := range configFields {
		if each.setDefault != nil {
			each.setDefault(d)
		}
	}
}
