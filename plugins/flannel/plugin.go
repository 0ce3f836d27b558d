// SPDX-License-Identifier: Apache-2.0

// Package flannel is the network plugin for flannel: a daemon on every node makes
// routes to the pods of the others, through VXLAN or through the nodes themselves.
// flannel does not enforce NetworkPolicies.
//
// It turns a NetworkConfig and the facts of a cluster into the objects that
// flannel consists of there. It refuses to know how they get into the cluster,
// and any infrastructure by name: it goes by the facts that a provider states.
//
// What flannel is told is in settings.go; render.go lists the components.
package flannel

import (
	_ "embed"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

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

type definition struct{}

var _ plugin.Definition[v1alpha1.NetworkConfig] = definition{}

func (definition) Describe() plugin.Description {
	return plugin.Description{
		Type:           Type,
		ConfigVersions: []schema.GroupVersion{v1alpha1.GroupVersion},
		Origin:         "extension-networking-flannel",
		IPFamilies:     plugin.IPFamilySupport{IPv4: true, IPv6: true, DualStack: true},
		Changes:        changePolicy.Possible(),
		ConfigSchema:   v1alpha1.Schema,
	}
}

func (definition) Validate(written *v1alpha1.NetworkConfig, in *plugin.Input, path *field.Path) plugin.Findings {
	return validate(written, in, path)
}

func (definition) Default(config *v1alpha1.NetworkConfig, in *plugin.Input, origins *plugin.Origins) {
	setDefaults(config, in, origins)
}

func (definition) ValidateEffective(effective, written *v1alpha1.NetworkConfig, in *plugin.Input, path *field.Path) plugin.Findings {
	return validateEffective(effective, in, path)
}

func (definition) Classify(change plugin.Change[v1alpha1.NetworkConfig]) (plugin.ChangeClass, string) {
	return changePolicy.Classify(change)
}

func (definition) Render(effective *v1alpha1.NetworkConfig, in *plugin.Input) (plugin.Objects, error) {
	return render(effective, in)
}
