// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"strconv"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// Transition gives pods the smaller MTU before WireGuard adds to their packets, and the greater one after it
// is gone. No other change has steps. Between two encapsulations there is no network in which all nodes
// understand each other: each answers on the way of its own routes, and those that filter by the reverse
// path (rp_filter), as Felix wants it to be strict or off, drop what comes in on another.
func (definition) Transition(before, after plugin.State[v1alpha1.NetworkConfig]) []plugin.Step[v1alpha1.NetworkConfig] {
	was, is := before.Config, after.Config
	mtuWas, mtuIs := statedMTU(was), statedMTU(is)
	if was.WireguardEncryption == nil || *was.WireguardEncryption == *is.WireguardEncryption || mtuWas == 0 || mtuIs == 0 {
		return nil
	}
	type step = plugin.Step[v1alpha1.NetworkConfig]
	between := *is
	switch {
	case *is.WireguardEncryption && mtuIs < mtuWas:
		between.WireguardEncryption = new(false)
		return []step{{Name: "the smaller MTU of pods", Config: &between}, {Name: "encryption", Config: is}}
	case !*is.WireguardEncryption && mtuIs > mtuWas:
		between.VethMTU = was.VethMTU
		return []step{{Name: "no encryption, and still the smaller MTU of pods", Config: &between}, {Name: "the greater MTU of pods", Config: is}}
	}
	return nil
}

// statedMTU returns the MTU of pods; 0 if each node finds out.
func statedMTU(c *v1alpha1.NetworkConfig) int {
	if c.VethMTU == nil {
		return 0
	}
	number, err := strconv.Atoi(mtuOf(c))
	if err != nil {
		return 0
	}
	return number
}
