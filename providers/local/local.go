// SPDX-License-Identifier: Apache-2.0

// Package local states what Gardener's local infrastructure allows a pod network. Its nodes
// are containers on one machine.
package local

import (
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
)

// Type is the value of Shoot.spec.provider.type.
const Type = "local"

// Provider states the local infrastructure's facts.
type Provider struct{}

var _ plugin.Provider = Provider{}

// Type returns local.
func (Provider) Type() string { return Type }

// Infrastructure returns the facts of the local infrastructure: it allows everything, and
// creates no routes for pods.
func (Provider) Infrastructure(*corev1beta1.Shoot) plugin.Infrastructure {
	return plugin.Infrastructure{Type: Type}
}
