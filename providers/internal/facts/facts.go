// SPDX-License-Identifier: Apache-2.0

// Package facts makes a plugin.Provider of what is known of an infrastructure.
package facts

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
)

// Provider states what is the same in all clusters of an infrastructure, and finds out
// whether a cluster has the nodes' network for itself.
type Provider struct {
	// Facts are the same in all clusters.
	Facts plugin.Infrastructure
	// Existing are the fields of the Shoot's infrastructureConfig that name a network which
	// existed before the cluster, so that other clusters may have nodes in it. A cluster
	// whose infrastructureConfig has none of them gets a network of its own. With no fields it
	// is not known.
	Existing [][]string
}

var _ plugin.Provider = Provider{}

// Type returns the type of the infrastructure.
func (p Provider) Type() string { return p.Facts.Type }

// Infrastructure returns the facts for a Shoot's cluster.
func (p Provider) Infrastructure(shoot *corev1beta1.Shoot) plugin.Infrastructure {
	infrastructure := p.Facts
	infrastructure.OwnNetwork = p.hasOwnNetwork(shoot)
	return infrastructure
}

func (p Provider) hasOwnNetwork(shoot *corev1beta1.Shoot) bool {
	if shoot == nil || shoot.Spec.Provider.InfrastructureConfig == nil || len(p.Existing) == 0 {
		return false
	}
	var config map[string]any
	if json.Unmarshal(shoot.Spec.Provider.InfrastructureConfig.Raw, &config) != nil {
		return false
	}
	for _, fields := range p.Existing {
		if name, _, err := unstructured.NestedString(config, fields...); err != nil || name != "" {
			return false
		}
	}
	return true
}
