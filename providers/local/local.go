// SPDX-License-Identifier: Apache-2.0

// Package local states what Gardener's local infrastructure allows a pod network. Its nodes
// are containers on one machine, or those of the sandbox. It also has the controllers of that
// infrastructure.
package local

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/providers/internal/facts"
)

const providerType = "local"

// Provider states the facts: nothing is restricted, and nothing makes routes for pods.
var Provider = provider{facts.Provider{Facts: plugin.Infrastructure{Type: providerType, NoPodRoutes: true}}}

type provider struct{ facts.Provider }
