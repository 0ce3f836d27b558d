// SPDX-License-Identifier: Apache-2.0

package calico

import "github.com/trellis-network/trellis/plugin"

// shared makes constants of objects that are the same in every network:
// definitions of kinds, identities, rights, Services. They are made and encoded
// once, while the program starts. Workloads cannot be among them, since the
// pipeline changes those, and no object that anything of a config or the facts
// stands in.
func shared(objects ...plugin.Object) []plugin.Object {
	constants := make([]plugin.Object, 0, len(objects)) // full, so that no append writes into it
	for _, object := range objects {
		constants = append(constants, plugin.NewConstant(object))
	}
	return constants
}
