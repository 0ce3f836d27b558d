// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"slices"

	"github.com/trellis-network/trellis/plugin"
)

// hubbleObjects are those of Hubble, which shows who talks to whom: agents keep what
// they see, the relay collects it from all of them, and the UI draws it.
func (n *network) hubbleObjects() []plugin.Object {
	if !n.config.Hubble.Enabled {
		return nil
	}
	return slices.Concat(n.hubbleRelay(), n.hubbleUI(), n.hubbleCertificates())
}
