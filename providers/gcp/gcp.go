// SPDX-License-Identifier: Apache-2.0

// Package gcp states what the Google Cloud Platform allows a pod network.
package gcp

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/providers/internal/facts"
)

// Provider states the facts. The cloud-controller-manager makes a route for the pods of each node.
// How many of them a network takes depends on the project. Gardener's extension reads overlay.enabled
// whatever the network type (its pkg/admission/mutator/shoot.go).
var Provider = facts.Provider{
	Facts: plugin.Infrastructure{
		Type:       "gcp",
		PodRoutes:  true,
		PodRouter:  "the cloud-controller-manager",
		OverlayOff: true,

		ReadsOverlay:      []string{"calico", "cilium"},
		NoUpstreamDNSSNAT: true,
	},
	Existing: [][]string{{"networks", "vpc", "name"}},
}
