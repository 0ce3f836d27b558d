// SPDX-License-Identifier: Apache-2.0

// Package cilium is the network plugin for Cilium: agents on every node move
// packets and enforce NetworkPolicies with eBPF programs, through VXLAN or Geneve
// tunnels or along routes that the cloud or the agents make. They can do what kube-proxy
// does.
//
// It turns a NetworkConfig and the facts of a cluster into the objects that Cilium
// consists of there. It refuses to know how they get into the cluster, and any
// infrastructure by name: it goes by the facts that a provider states.
//
// To change what cilium-config contains, see fields.go, configmap.go and
// manifests/cilium-config.yaml; what depends on Cilium's version is in version.go and
// images.yaml. render.go lists the components.
package cilium

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// Type is the value of Network.spec.type that this plugin answers to.
const Type = "cilium"

// New returns the plugin.
func New() plugin.Plugin { return plugin.New[v1alpha1.NetworkConfig](definition{}) }

// definition has its hooks in defaults.go, validate.go, validate_effective.go, changes.go,
// render.go, adopter.go, nodelocaldns_adapt.go, datapath.go and shoot.go.
type definition struct{}

var (
	_ plugin.Definition[v1alpha1.NetworkConfig]        = definition{}
	_ plugin.DataPathDescriber[v1alpha1.NetworkConfig] = definition{}
	_ plugin.ShootDefaulter                            = definition{}
)

func (definition) Describe() plugin.Description {
	return plugin.Description{
		Type:           Type,
		ConfigVersions: []schema.GroupVersion{v1alpha1.GroupVersion},
		Origin:         "extension-networking-cilium",
		Adopts:         []plugin.Bundle{plugin.NetworkBundle(bundleName, nil), plugin.AdmissionBundle(admissionResource, nil)},
		IPFamilies:     plugin.IPFamilySupport{IPv4: true, IPv6: true, DualStack: true},
		Images:         images,
		Changes:        changePolicy.Possible(),
		ConfigSchema:   v1alpha1.Schema,
	}
}

// network is one network to render: what is in force, and what is known of its cluster.
type network struct {
	config *v1alpha1.NetworkConfig
	in     *plugin.Input
}
