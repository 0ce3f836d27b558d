// SPDX-License-Identifier: Apache-2.0

// Package alicloud states what Alibaba Cloud allows a pod network.
package alicloud

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/providers/internal/facts"
)

// Provider states the facts. The cloud-controller-manager makes a route for the pods of each node,
// and a route table takes 200 by default (quotas of its VPCs). Gardener's extension reads
// overlay.enabled of calico only (its pkg/admission/mutator/shoot.go).
var Provider = facts.Provider{
	Facts: plugin.Infrastructure{
		Type:         "alicloud",
		PodRoutes:    true,
		PodRouter:    "the cloud-controller-manager",
		MaxPodRoutes: 200,
		OverlayOff:   true,

		NoUpstreamDNSSNAT: true,
		ReadsOverlay:      []string{"calico"},
	},
	Existing: [][]string{{"networks", "vpc", "id"}},
}
