// SPDX-License-Identifier: Apache-2.0

// Package azure states what Microsoft Azure allows a pod network. It refuses to
// know what plugins make of that.
package azure

import (
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
)

// Type is the value of Shoot.spec.provider.type.
const Type = "azure"

// Provider states Azure's facts.
type Provider struct{}

var _ plugin.Provider = Provider{}

// Type returns azure.
func (Provider) Type() string { return Type }

// Infrastructure returns that Azure's virtual networks drop IP-in-IP, and that
// its cloud controller manager makes a route for the pods of each node.
func (Provider) Infrastructure(*corev1beta1.Shoot) plugin.Infrastructure {
	return plugin.Infrastructure{Type: Type, NoIPIP: true, PodRoutes: true}
}
