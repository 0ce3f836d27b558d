// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"slices"

	"github.com/trellis-network/trellis/plugin"
)

// hubble shows who talks to whom: agents keep what they see, the relay collects it from
// all of them, and the UI draws it.
type hubble struct{ *network }

func (h hubble) objects() []plugin.Object {
	if !h.config.Hubble.Enabled {
		return nil
	}
	return slices.Concat(h.relay(), h.ui(), h.certificates())
}
