// SPDX-License-Identifier: Apache-2.0

// Package calico is the network plugin for Calico: pods talk through routes
// that BIRD distributes, or through IP-in-IP or VXLAN tunnels, and Felix enforces
// NetworkPolicies on every node.
//
// It turns a NetworkConfig and the facts of a cluster into the objects that
// Calico consists of there. It refuses to know how they get into the cluster,
// and any infrastructure by name: it goes by the facts that a provider states.
//
// To change what calico-node is told, see node_env.go. Every other component has
// a file of its own; render.go lists them.
package calico

import (
	_ "embed"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// Type is the value of Network.spec.type that this plugin answers to.
const Type = "calico"

// New returns the plugin.
func New() plugin.Plugin { return plugin.New[v1alpha1.NetworkConfig](definition{}) }

//go:embed images.yaml
var imagesDocument []byte

var images = plugin.ParseImages(imagesDocument)

type definition struct{}

var (
	_ plugin.Definition[v1alpha1.NetworkConfig]     = definition{}
	_ plugin.Preconditioner[v1alpha1.NetworkConfig] = definition{}
)

func (definition) Describe() plugin.Description {
	return plugin.Description{
		Type:           Type,
		ConfigVersions: []schema.GroupVersion{v1alpha1.GroupVersion, v1alpha1.FirstProposalGroupVersion},
		Origin:         "extension-networking-calico",
		Adopts:         []plugin.Bundle{plugin.NetworkBundle(bundleName, nil)},
		IPFamilies:     plugin.IPFamilySupport{IPv4: true, IPv6: true, DualStack: true},
		FeatureGates: []plugin.FeatureGate{
			{Name: nonPrivilegedGate, Doc: "lets calico-node run with few rights and as no root, except with eBPF"},
			{Name: seamlessSwitchGate, Doc: "turns an overlay off only once the cloud has made the routes of every node"},
		},
		Changes:      changePolicy.Possible(),
		ConfigSchema: v1alpha1.Schema,
	}
}

func (definition) Validate(written *v1alpha1.NetworkConfig, in *plugin.Input, path *field.Path) plugin.Findings {
	return validate(written, in, path)
}

func (definition) Default(config *v1alpha1.NetworkConfig, in *plugin.Input, origins *plugin.Origins) {
	setDefaults(config, in, origins)
}

func (definition) ValidateEffective(effective, written *v1alpha1.NetworkConfig, in *plugin.Input, path *field.Path) plugin.Findings {
	return validateEffective(effective, written, in, path)
}

func (definition) Classify(change plugin.Change[v1alpha1.NetworkConfig]) (plugin.ChangeClass, string) {
	return changePolicy.Classify(change)
}

func (definition) Render(effective *v1alpha1.NetworkConfig, in *plugin.Input) (plugin.Objects, error) {
	return render(effective, in)
}

func (definition) Precondition(effective *v1alpha1.NetworkConfig, in *plugin.Input) *plugin.Precondition {
	return precondition(effective, in)
}
