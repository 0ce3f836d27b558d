// SPDX-License-Identifier: Apache-2.0

// Package calico is the network plugin for Calico: pods talk through routes
// that BIRD distributes, or through IP-in-IP or VXLAN tunnels, and Felix enforces
// NetworkPolicies on every node.
//
// It makes the objects of Calico from a NetworkConfig and the facts of a cluster. It does not
// know how they get into the cluster, and no infrastructure by name: it uses the facts that a
// provider states.
//
// render.go lists the components. Their objects are in manifests/, and the Go files set in them
// what depends on the config or the cluster. The environment of calico-node is in node_env.go.
package calico

import (
	_ "embed"

	"k8s.io/apimachinery/pkg/runtime/schema"

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

// definition has its hooks in defaults.go, validate.go, validate_effective.go, changes.go,
// render.go, precondition.go, transition.go, exchange.go, datapath.go, shoot.go and network_mutator.go.
type definition struct{}

var (
	_ plugin.Definition[v1alpha1.NetworkConfig]        = definition{}
	_ plugin.Preconditioner[v1alpha1.NetworkConfig]    = definition{}
	_ plugin.DataPathDescriber[v1alpha1.NetworkConfig] = definition{}
	_ plugin.ShootDefaulter                            = definition{}
	_ plugin.Transitioner[v1alpha1.NetworkConfig]      = definition{}
	_ plugin.Exchanger[v1alpha1.NetworkConfig]         = definition{}
	_ plugin.NetworkMutator                            = definition{}
)

func (definition) Describe() plugin.Description {
	return plugin.Description{
		Type:           Type,
		ConfigVersions: []schema.GroupVersion{v1alpha1.GroupVersion, v1alpha1.FirstProposalGroupVersion},
		Origin:         "extension-networking-calico",
		Adopts:         []plugin.Bundle{plugin.NetworkBundle(bundleName, nil)},
		IPFamilies:     plugin.IPFamilySupport{IPv4: true, IPv6: true, DualStack: true},
		FeatureGates: []plugin.FeatureGate{
			{
				Name: nonPrivilegedGate, Stage: plugin.Alpha,
				Doc:     "lets calico-node run with few rights and as no root, except with eBPF; Calico has given this up, since iptables from 1.8.8 on refuses to run for a set-uid program",
				Needs:   "an image of calico-node with an iptables before 1.8.8",
				Against: "with Calico's own image calico-node does not become ready. Each network has a warning",
			},
			{
				Name: seamlessSwitchGate, Stage: plugin.Alpha,
				Doc: "turns an overlay off only once the cloud has made the routes of every node",
				Needs: "MutatingAdmissionPolicies in the shoot (Kubernetes 1.36, or their feature gate and API version before), without which it has no effect; " +
					"and a route controller that sets the condition NetworkUnavailable of nodes to False with the reason RouteCreated",
				Against: "where no controller sets the condition, the overlay stays, and with it all changes of the network that were made since",
			},
		},
		Images:       images,
		Changes:      changePolicy.possible(),
		ConfigSchema: v1alpha1.Schema,
	}
}
