// SPDX-License-Identifier: Apache-2.0

package plugin

import "k8s.io/apimachinery/pkg/runtime"

// NetworkMutator is implemented by a Definition whose Networks Gardener's extension for an
// infrastructure changes on their way to the seed. Trellis needs no such change, since Default
// goes by the facts of the infrastructure; it is for landscapes in which others read the Network.
type NetworkMutator interface {
	// MutateNetwork returns the providerConfig that a Network gets on an infrastructure. It
	// returns the config itself where nothing changes, and nil for no config. Mutating twice
	// changes nothing more. An error refuses the Network, and its author is shown it.
	MutateNetwork(infrastructure *Infrastructure, config *runtime.RawExtension) (*runtime.RawExtension, error)
}
