// SPDX-License-Identifier: Apache-2.0

// Package aws states what Amazon Web Services allow a pod network.
package aws

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/providers/internal/facts"
)

// Provider states the facts. The cloud-controller-manager cannot manage several route tables,
// which Gardener makes, so a controller of Gardener makes the routes. A route table takes 500
// of them by default (Amazon VPC quotas). Gardener's extension reads overlay.enabled whatever the
// network type (its pkg/admission/mutator/shoot.go).
var Provider = facts.Provider{
	Facts: plugin.Infrastructure{
		Type:         "aws",
		PodRoutes:    true,
		PodRouter:    "the aws-custom-route-controller",
		MaxPodRoutes: 500,
		OverlayOff:   true,
		ReadsOverlay: []string{"calico", "cilium"},
	},
	Existing: [][]string{{"networks", "vpc", "id"}},
}
