// SPDX-License-Identifier: Apache-2.0

package plugin

// DataPathDescriber is implemented by a Definition that tells users how packets between pods on
// different nodes travel in its networks.
type DataPathDescriber[C any] interface {
	// DescribeDataPath returns, for a config that is in force, how packets travel between nodes,
	// and who makes the routes to the pods of other nodes: one line without a period, such as
	// "VXLAN between nodes; routes by the agents". The config may be one that an older release
	// has made, without fields that are new since.
	DescribeDataPath(effective *C) string
}
