// SPDX-License-Identifier: Apache-2.0

// Package flannel is the network plugin for flannel: a daemon on every node makes
// routes to the pods of the others, through VXLAN or through the nodes themselves.
// flannel does not enforce NetworkPolicies.
//
// It makes the objects of flannel from a NetworkConfig and the facts of a cluster. It does not
// know how they get into the cluster, and no infrastructure by name: it uses the facts that a
// provider states.
//
// flannel's configuration is in settings.go; render.go lists the components.
package flannel

import (
	_ "embed"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/flannel/v1alpha1"
)

// Type is the value of Network.spec.type that this plugin answers to.
const Type = "flannel"

// New returns the plugin.
func New() plugin.Plugin { return plugin.New[v1alpha1.NetworkConfig](definition{}) }

//go:embed images.yaml
var imagesDocument []byte

var images = plugin.ParseImages(imagesDocument)

// definition has its hooks in defaults.go, validate.go, validate_effective.go, changes.go,
// render.go, datapath.go, transition.go and exchange.go.
type definition struct{}

var (
	_ plugin.Definition[v1alpha1.NetworkConfig]        = definition{}
	_ plugin.DataPathDescriber[v1alpha1.NetworkConfig] = definition{}
	_ plugin.Transitioner[v1alpha1.NetworkConfig]      = definition{}
	_ plugin.Exchanger[v1alpha1.NetworkConfig]         = definition{}
)

func (definition) Describe() plugin.Description {
	return plugin.Description{
		Type:           Type,
		ConfigVersions: []schema.GroupVersion{v1alpha1.GroupVersion},
		Origin:         "extension-networking-flannel",
		IPFamilies:     plugin.IPFamilySupport{IPv4: true, IPv6: true, DualStack: true},
		Images:         images,
		Changes:        changePolicy.Possible(),
		ConfigSchema:   v1alpha1.Schema,
	}
}
