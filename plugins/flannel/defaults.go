// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/flannel/v1alpha1"
)

const (
	// defaultPort is the one that Linux uses for VXLAN by default.
	defaultPort = 8472
	defaultVNI  = 1
	// What flannel's own manifests request.
	nodeCPU, nodeMemory = "100m", "50Mi"
)

// Default makes config what is in force.
func (definition) Default(config *v1alpha1.NetworkConfig, in *plugin.Input, origins *plugin.Origins) {
	setBackend(plugin.OrDefault(&config.Backend, v1alpha1.Backend{}), origins)
	setFamilies(config, in, origins)
	plugin.OrDefault(&config.NFTables, false)
	resources := plugin.OrDefault(&config.Resources, v1alpha1.Resources{})
	resources.Requests = system.RequestsWith(resources.Requests, nodeCPU, nodeMemory)
}

// setBackend removes the fields that host-gw does not have. Validation refuses them, but an
// older config may have them.
func setBackend(backend *v1alpha1.Backend, origins *plugin.Origins) {
	if *plugin.OrDefault(&backend.Type, v1alpha1.VXLAN) == v1alpha1.VXLAN {
		plugin.OrDefault(&backend.Port, defaultPort)
		plugin.OrDefault(&backend.VNI, defaultVNI)
		plugin.OrDefault(&backend.DirectRouting, false)
		return
	}
	backend.Port, backend.VNI, backend.DirectRouting = nil, nil, nil
	for _, path := range []string{"backend.port", "backend.vni", "backend.directRouting"} {
		origins.Rule(path, "backend.type is not vxlan")
	}
}

// setFamilies keeps the user's order, which has no effect.
func setFamilies(config *v1alpha1.NetworkConfig, in *plugin.Input, origins *plugin.Origins) {
	families := familiesOf(in.IPFamilies)
	if sameFamilies(config.IPFamilies, families) {
		return
	}
	reason := "the network has these IP families"
	if len(in.WantedIPFamilies) > len(families) {
		reason = "not all nodes are ready for two IP families"
	}
	config.IPFamilies = families
	origins.Rule("ipFamilies", reason)
}
