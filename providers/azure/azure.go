// SPDX-License-Identifier: Apache-2.0

// Package azure states what Microsoft Azure allows a pod network.
package azure

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/providers/internal/facts"
)

// Provider states the facts. Virtual networks drop IP-in-IP. The cloud-controller-manager makes a
// route for the pods of each node, and a route table takes 1,000: the limit was 400, for a short
// time 600, and is 1,000 since May 2026 (Azure update 562695, and "User-defined routes per route
// table" among the networking limits of learn.microsoft.com/azure/azure-resource-manager/management/azure-subscription-service-limits).
// Nodes have virtual functions, since most machine types have accelerated networking. Gardener's
// extension reads overlay.enabled of calico only (its pkg/apis/azure/validation/shoot.go).
var Provider = facts.Provider{
	Facts: plugin.Infrastructure{
		Type:             "azure",
		NoIPIP:           true,
		PodRoutes:        true,
		PodRouter:        "the cloud-controller-manager",
		MaxPodRoutes:     1000,
		OverlayOff:       true,
		ReadsOverlay:     []string{"calico"},
		RefusesOverlay:   []string{"calico"},
		VirtualFunctions: true,
	},
	Existing: [][]string{{"networks", "vnet", "name"}},
}
