// SPDX-License-Identifier: Apache-2.0

// Package gcp states what the Google Cloud Platform allows a pod network.
package gcp

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/providers/internal/facts"
)

// Provider states the facts. The cloud-controller-manager makes a route for the pods of each node.
// How many of them a network takes depends on the project.
var Provider = facts.Provider{
	Facts: plugin.Infrastructure{
		Type:       "gcp",
		PodRoutes:  true,
		PodRouter:  "the cloud-controller-manager",
		OverlayOff: true,

		NoUpstreamDNSSNAT: true,
	},
	Existing: [][]string{{"networks", "vpc", "name"}},
}
