// SPDX-License-Identifier: Apache-2.0

// Package providers is the list of the infrastructures that restrict pod networks. Trellis
// assumes that any other infrastructure allows everything. Each plugin decides what follows
// from a restriction.
package providers

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/providers/azure"
	"github.com/trellis-network/trellis/providers/local"
)

// All returns the providers, one line each.
func All() []plugin.Provider {
	return []plugin.Provider{
		azure.Provider{},
		local.Provider{},
	}
}
