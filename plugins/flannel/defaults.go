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

// setDefaults makes config what is in force.
func setDefaults(config *v1alpha1.NetworkConfig, in *plugin.Input, origins *plugin.Origins) {
	setBackend(orDefault(&config.Backend, v1alpha1.Backend{}), origins)
	setFamilies(config, in, origins)
	orDefault(&config.NFTables, false)
	resources := orDefault(&config.Resources, v1alpha1.Resources{})
	resources.Requests = system.RequestsWith(resources.Requests, nodeCPU, nodeMemory)
}

// setBackend takes away what host-gw does not have. Users must not write it there, but
// it may have been applied before.
func setBackend(backend *v1alpha1.Backend, origins *plugin.Origins) {
	if *orDefault(&backend.Type, v1alpha1.VXLAN) == v1alpha1.VXLAN {
		orDefault(&backend.Port, defaultPort)
		orDefault(&backend.VNI, defaultVNI)
		orDefault(&backend.DirectRouting, false)
		return
	}
	backend.Port, backend.VNI, backend.DirectRouting = nil, nil, nil
	for _, path := range []string{"backend.port", "backend.vni", "backend.directRouting"} {
		origins.Rule(path, "backend.type is not vxlan")
	}
}

// setFamilies leaves the order to the user, for whom it means nothing.
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

// orDefault returns what is at field, after putting value there if there was
// nothing.
func orDefault[T any](field **T, value T) *T {
	if *field == nil {
		*field = &value
	}
	return *field
}
