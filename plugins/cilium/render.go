// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	_ "embed"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

//go:embed images.yaml
var imagesDocument []byte

var images = plugin.ParseImages(imagesDocument)

const (
	// bundleName is the name of the ManagedResource, as Gardener's extension has it.
	bundleName = "extension-networking-cilium-config"
	// namespace is where everything is that has a namespace.
	namespace = metav1.NamespaceSystem
)

// Render returns the objects of a network. They are in the folder manifests (manifests.go), as
// far as they are the same in every network; the files below have what depends on the config or
// the facts.
func (definition) Render(effective *v1alpha1.NetworkConfig, in *plugin.Input) (plugin.Objects, error) {
	n := &network{effective, in}
	config := ciliumConfig{n}.configMap()
	checksum := system.Checksum(config)
	together, later := []plugin.Object(nil), n.policies()
	if in.OneBundle {
		together, later = later, nil
	}
	return plugin.NewObjects(n.components(),
		plugin.NetworkBundle(bundleName, slices.Concat(
			[]plugin.Object{config}, // configmap.go
			labelPrefixes(),
			n.agentAccess(),      // agent.go
			n.agent(checksum),    // agent.go
			n.operator(checksum), // operator.go
			n.envoy(),            // agent.go
			metricsServices(),
			n.hubble(), // hubble.go
			together,
		)),
		plugin.ExtrasBundle(bundleName+"-later", later),
		plugin.AdmissionBundle(admissionResource, nodeLocalAdmission(in)), // nodelocaldns.go, nodelocaldns_webhook.go
		plugin.SeedBundle(bundleName+"-seed", seedMonitoring(in)),         // monitoring.go
	), nil
}

func (n *network) components() []plugin.Component {
	list := []plugin.Component{
		{Name: "ciliumAgents", Kind: "DaemonSet", Workload: agentName, Namespace: namespace},
		{Name: "operator", Kind: "Deployment", Workload: "cilium-operator", Namespace: namespace},
		{Name: "envoy", Kind: "DaemonSet", Workload: "cilium-envoy", Namespace: namespace},
	}
	if n.config.Hubble.Enabled {
		list = append(list,
			plugin.Component{Name: "hubbleRelay", Kind: "Deployment", Workload: "hubble-relay", Namespace: namespace},
			plugin.Component{Name: "hubbleUI", Kind: "Deployment", Workload: "hubble-ui", Namespace: namespace})
	}
	return list
}
