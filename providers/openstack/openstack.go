// SPDX-License-Identifier: Apache-2.0

// Package openstack states what OpenStack allows a pod network.
package openstack

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/providers/internal/facts"
)

// Provider states the facts. The cloud-controller-manager makes a route for the pods of each node
// in the router, which takes 30 by default (max_routes of Neutron). Gardener's extension therefore
// has networks make the routes themselves: all nodes are in one subnet. It reads overlay.enabled
// whatever the network type (its pkg/admission/mutator/shoot.go).
var Provider = facts.Provider{
	Facts: plugin.Infrastructure{
		Type:         "openstack",
		PodRoutes:    true,
		PodRouter:    "the cloud-controller-manager",
		MaxPodRoutes: 30,
		OverlayOff:   true,

		CreatePodRoutes: true,
		ReadsOverlay:    []string{"calico", "cilium"},
	},
	Existing: [][]string{{"networks", "id"}, {"networks", "router", "id"}},
}
