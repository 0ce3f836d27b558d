// SPDX-License-Identifier: Apache-2.0

package plugin

import "k8s.io/apimachinery/pkg/util/validation/field"

// Exchanger is implemented by a Definition whose networks can take the place of one of another type, and give
// way to one, node by node, while pods on different nodes go on talking. That needs what both understand:
// pods have addresses of their node's spec.podCIDR, packets travel without encapsulation, and the agents of a
// node make routes to the ranges of all other nodes, whatever runs there.
type Exchanger[C any] interface {
	// Exchange returns what Trellis must know of a network for that. path is that of the config.
	Exchange(effective *C, in *Input, path *field.Path) Exchange
}

// Exchange is what Trellis must know of a network whose agents come to nodes, or go, one node after the other.
type Exchange struct {
	// Obstacles are why that is not possible, each with what to do; none if it is.
	Obstacles field.ErrorList
	// Remnants are what the agents leave behind on a node.
	Remnants Remnants
}

// Remnants are what agents leave behind on a node when they end. Routes to the ranges of other nodes are
// none: the agents of the other network replace them.
type Remnants struct {
	// Image is the name, among the plugin's images, of one with a shell, rm and, as far as the lists below
	// need them, ip, iptables (ip6tables) and nft.
	Image string
	// Files are absolute paths of files, and of folders with all that is in them.
	Files []string
	// Interfaces are the names of network interfaces.
	Interfaces []string
	// Chains are chains of iptables, which are deleted with the rules that jump to them.
	Chains []Chain
	// Tables are tables of nftables with their family, such as "ip example".
	Tables []string
}

// Chain is a chain of iptables and ip6tables, and the one whose rules jump to it.
type Chain struct{ Table, From, Name string }
