// SPDX-License-Identifier: Apache-2.0

// Package local states what Gardener's local infrastructure allows a pod network. Its nodes
// are containers on one machine.
package local

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/providers/internal/facts"
)

// Provider states the facts: nothing is restricted, and nothing makes routes for pods.
var Provider = facts.Provider{Facts: plugin.Infrastructure{Type: "local", NoPodRoutes: true}}
