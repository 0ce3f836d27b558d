// SPDX-License-Identifier: Apache-2.0

// Package azure states what Microsoft Azure allows a pod network.
package azure

import (
	"encoding/json"

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

// Infrastructure returns Azure's facts: its virtual networks drop IP-in-IP, its cloud
// controller manager creates a route for the pods of each node, and nodes have virtual
// functions, since most machine types have accelerated networking.
func (Provider) Infrastructure(shoot *corev1beta1.Shoot) plugin.Infrastructure {
	return plugin.Infrastructure{
		Type:             Type,
		NoIPIP:           true,
		PodRoutes:        true,
		OwnNetwork:       hasOwnNetwork(shoot),
		VirtualFunctions: true,
	}
}

// hasOwnNetwork reports whether the Shoot has a virtual network of its own: its
// infrastructureConfig does not name an existing one.
func hasOwnNetwork(shoot *corev1beta1.Shoot) bool {
	if shoot == nil || shoot.Spec.Provider.InfrastructureConfig == nil {
		return false
	}
	var config struct {
		Networks struct {
			VNet struct {
				Name string `json:"name"`
			} `json:"vnet"`
		} `json:"networks"`
	}
	err := json.Unmarshal(shoot.Spec.Provider.InfrastructureConfig.Raw, &config)
	return err == nil && config.Networks.VNet.Name == ""
}
