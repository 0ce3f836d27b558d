// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Exchanger is implemented by a Definition whose networks can take the place of one of another type, and give
// way to one, node by node, while pods on different nodes go on talking. That needs what both understand:
// pods have addresses of their node's spec.podCIDR, packets travel without encapsulation, and routes lead to the
// ranges of all other nodes, whatever runs there: the agents of a node make them, or the infrastructure does.
// In the second case the Definition is a DataPathDescriber as well, which says so.
type Exchanger[C any] interface {
	// Exchange returns what Trellis must know of a network for that. path is that of the config.
	Exchange(effective *C, in *Input, path *field.Path) Exchange
}

// NativeRouter is implemented by an Exchanger whose networks may encapsulate packets, and can become networks that do
// not in steps: see Transitioner. Such a network need not be one that can take the place of another: before its type
// changes, it becomes one, and after that it becomes what its user asks for.
type NativeRouter[C any] interface {
	// RouteNatively changes a config as a user writes it, so that packets travel without encapsulation.
	RouteNatively(written *C)
}

// Exchange is what Trellis must know of a network whose agents come to nodes, or go, one node after the other.
type Exchange struct {
	// Obstacles are why that is not possible, each with what to do; none if it is.
	Obstacles field.ErrorList
	// Kinds are those of objects that users write and the network acts on, such as policies. While the
	// cluster has one of a kind that the other network does not state, the type does not change.
	Kinds []schema.GroupVersionKind
	// KnowsOwnPodsOnly reports that policies which select pods match none on nodes that have the other network, and so
	// cut them off. Then the type does not change while the cluster has an object of the Kinds of one of the two, and
	// the NetworkPolicy that protects the probes is away until the type has changed.
	KnowsOwnPodsOnly bool
	// Remnants are what the agents leave behind on a node.
	Remnants Remnants
}

// Remnants are what agents leave behind on a node when they end. Routes to the ranges of other nodes are
// none: the agents of the other network replace them or, where the infrastructure makes its routes, Trellis
// takes those away that lead to other nodes.
type Remnants struct {
	// Image is the name, among the plugin's images, of one with a shell, rm, ip and, as far as the lists below
	// need them, umount, tc, iptables (ip6tables), ipset and nft.
	Image string
	// Files are absolute paths of files, and of folders with all that is in them. A * at the end stands for all whose
	// paths begin so.
	Files []string
	// Mounts are folders in Files where agents have mounted something.
	Mounts []string
	// Programs are how the names of eBPF programs begin, which are filters of interfaces.
	Programs []string
	// Interfaces are the names of network interfaces.
	Interfaces []string
	// Chains are how the names of chains of iptables begin, which are deleted in all tables, with the rules that
	// lead to them.
	Chains []string
	// Comments are how the comments of rules of iptables begin, which are deleted from all other chains.
	Comments []string
	// Sets are how the names of IP sets begin.
	Sets []string
	// Tables are tables of nftables with their family, such as "ip example".
	Tables []string
	// RouteTables are the numbers of tables of routes, which are emptied, with the rules that lead to them.
	RouteTables []int
}
