// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/flannel/v1alpha1"
)

// lowestMTU is that of the field mtu.
const lowestMTU = 576

// Transition leads from vxlan to host-gw and back by way of directRouting, with which nodes of one subnet
// send packets as they are, and still encapsulate those to other subnets. So it shows that the network
// between the nodes lets addresses of pods through before the tunnels go, and they are there before
// anything relies on them. The MTU of pods goes down before packets are encapsulated, and up after that.
func (definition) Transition(before, after plugin.State[v1alpha1.NetworkConfig]) []plugin.Step[v1alpha1.NetworkConfig] {
	was, is := before.Config, after.Config
	if was.Backend == nil || was.Backend.Type == nil || encapsulates(was) == encapsulates(is) {
		return nil
	}
	var steps []plugin.Step[v1alpha1.NetworkConfig]
	add := func(name string, config *v1alpha1.NetworkConfig) {
		steps = append(steps, plugin.Step[v1alpha1.NetworkConfig]{Name: name, Config: config})
	}
	if encapsulates(is) {
		if mtu := podMTU(is); was.MTU != nil && mtu >= lowestMTU && mtu < *was.MTU {
			add("a smaller MTU of pods", withMTU(is, was.Backend, mtu))
		}
		if !isTrue(is.Backend.DirectRouting) {
			add("VXLAN between subnets", directly(is, is.Backend))
		}
		add(nameOf(is), is)
		return steps
	}
	if !isTrue(was.Backend.DirectRouting) {
		tunnels := *is
		tunnels.MTU = was.MTU
		add("VXLAN between subnets", directly(&tunnels, was.Backend))
	}
	if mtu := podMTU(was); is.MTU != nil && mtu >= lowestMTU && mtu < *is.MTU {
		add("no encapsulation, and still the smaller MTU of pods", withMTU(is, is.Backend, mtu))
	}
	add(nameOf(is), is)
	return steps
}

func nameOf(c *v1alpha1.NetworkConfig) string {
	switch {
	case !encapsulates(c):
		return "no encapsulation"
	case isTrue(c.Backend.DirectRouting):
		return "VXLAN between subnets"
	}
	return "VXLAN between all nodes"
}

// directly returns a config with a backend that encapsulates only what leaves a subnet.
func directly(c *v1alpha1.NetworkConfig, backend *v1alpha1.Backend) *v1alpha1.NetworkConfig {
	changed, direct := *c, *backend
	direct.DirectRouting = new(true)
	changed.Backend = &direct
	return &changed
}

// withMTU returns a config with another backend and MTU.
func withMTU(c *v1alpha1.NetworkConfig, backend *v1alpha1.Backend, mtu int32) *v1alpha1.NetworkConfig {
	changed := *c
	changed.Backend, changed.MTU = backend, &mtu
	return &changed
}
