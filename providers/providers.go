// SPDX-License-Identifier: Apache-2.0

// Package providers is the one list of the infrastructures of which Trellis knows
// what they allow. An infrastructure that is not in it allows everything. The
// package refuses to know what plugins make of that.
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
