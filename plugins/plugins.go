// SPDX-License-Identifier: Apache-2.0

// Package plugins is the one list of the network plugins that Trellis comes with.
// It refuses to know anything of them but how to make them.
package plugins

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico"
	"github.com/trellis-network/trellis/plugins/cilium"
	"github.com/trellis-network/trellis/plugins/flannel"
)

// All returns the plugins, one line each.
func All() []plugin.Plugin {
	return []plugin.Plugin{
		calico.New(),
		cilium.New(),
		flannel.New(),
	}
}
