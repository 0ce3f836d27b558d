// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	_ "embed"
	"slices"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

//go:embed images.yaml
var imagesDocument []byte

var images = plugin.ParseImages(imagesDocument)

// bundleName is the name of the ManagedResource, as Gardener's extension has it.
const bundleName = "extension-networking-cilium-config"

// Render returns the objects of a network. Every component has a file of its own for what
// depends on the config or the facts; the rest is in the folder manifests (manifests.go).
func (definition) Render(effective *v1alpha1.NetworkConfig, in *plugin.Input) (plugin.Objects, error) {
	n := &network{effective, in}
	config := ciliumConfig{n}.configMap()
	checksum := system.Checksum(config)
	return plugin.NewObjects(n.components(),
		plugin.NetworkBundle(bundleName, slices.Concat(
			[]plugin.Object{config}, // configmap.go
			labelPrefixes(),
			agent{n}.access(),
			agent{n}.objects(checksum),    // agent.go, agent_init.go, agent_sidecars.go, agent_volumes.go
			operator{n}.objects(checksum), // operator.go
			envoy{n}.objects(),            // envoy.go
			metricsServices(),
			hubble{n}.objects(), // hubble.go, hubble_relay.go, hubble_ui.go, hubble_certificates.go
		)),
		plugin.ExtrasBundle(bundleName+"-later", n.policies()),
		plugin.AdmissionBundle(admissionResource, nodeLocalAdmission(in)), // nodelocaldns.go, nodelocaldns_webhook.go
		plugin.SeedBundle(bundleName+"-seed", seedMonitoring(in)),         // monitoring.go
	), nil
}

func (n *network) components() []plugin.Component {
	list := []plugin.Component{
		{Name: "ciliumAgents", Kind: "DaemonSet", Workload: agentName, Namespace: namespace},
		{Name: "operator", Kind: "Deployment", Workload: operatorName, Namespace: namespace},
		{Name: "envoy", Kind: "DaemonSet", Workload: envoyName, Namespace: namespace},
	}
	if n.config.Hubble.Enabled {
		list = append(list,
			plugin.Component{Name: "hubbleRelay", Kind: "Deployment", Workload: relayName, Namespace: namespace},
			plugin.Component{Name: "hubbleUI", Kind: "Deployment", Workload: uiName, Namespace: namespace})
	}
	return list
}

// image returns the reference of an image of images.yaml.
func (n *network) image(name string) string { return images.For(name, n.in) }
