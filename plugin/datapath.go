// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// DataPathDescriber is implemented by a Definition that states how packets between pods on
// different nodes travel in its networks. Users are told, and the pipeline refuses a network
// that relies on routes where the infrastructure makes none.
type DataPathDescriber[C any] interface {
	// DescribeDataPath returns how packets travel with a config that is in force. The config
	// may be one that an older release has made, without fields that are new since.
	DescribeDataPath(effective *C) DataPath
}

// DataPath is how packets between pods on different nodes travel.
type DataPath struct {
	// Packets is how packets travel: "VXLAN between nodes" or "no encapsulation".
	Packets string
	// Router names what of the network makes the routes to the pods of other nodes: "BIRD". It
	// is empty if the infrastructure must make all of them.
	Router string
	// Rest names the routes that the infrastructure must make beside those of Router: "those
	// of IPv6". It is empty if there are none.
	Rest string
	// Strays names what gives pods addresses that are not of their node's pod range. Routes of
	// the infrastructure, which lead to these ranges, do not lead to such pods. It is empty where
	// each node gives its pods addresses of its own range.
	Strays string
	// Encryption names what encrypts the packets: "WireGuard"; empty if they are not encrypted.
	Encryption string
	// Lacks names what users may expect of a network and this one does not have:
	// "NetworkPolicies". It is empty if there is nothing to tell.
	Lacks string
	// Field is the field of the config that leaves the routes to the infrastructure, for
	// example overlay.enabled. It is empty where the network makes all routes.
	Field string
	// Instead are changes of the config of which each makes the network do without the
	// infrastructure's routes. The first is the one that fits most users.
	Instead []Edit
}

// NeedsRoutes reports whether the network relies on routes that the infrastructure makes.
func (d DataPath) NeedsRoutes() bool { return d.Packets != "" && (d.Router == "" || d.Rest != "") }

// In describes the data path in a cluster of an infrastructure, in one line without a period:
// "IP-in-IP between nodes; routes by BIRD". It is empty if the plugin does not describe it.
func (d DataPath) In(infrastructure *Infrastructure) string {
	if d.Packets == "" {
		return ""
	}
	line, others := d.Packets+"; routes by ", infrastructure.router()
	if infrastructure.PodRoutes && d.Strays != "" {
		others = "nothing, since " + d.Strays + " gives pods addresses outside of their node's range"
	}
	switch {
	case d.Router == "":
		line += others
	case d.Rest != "":
		line += d.Router + ", " + d.Rest + " by " + others
	default:
		line += d.Router
	}
	if d.Encryption != "" {
		line += "; encrypted with " + d.Encryption
	}
	if d.Lacks != "" {
		line += "; " + d.Lacks + " have no effect"
	}
	return line
}

// router names what makes the infrastructure's routes.
func (i *Infrastructure) router() string {
	if i.NoPodRoutes {
		return "nothing, since " + cmp.Or(i.Type, "the infrastructure") + " makes none"
	}
	return cmp.Or(i.PodRouter, "the infrastructure")
}

// Edit is a change of a config that users are advised to make.
type Edit struct {
	// Values are what to write, by path; nil leaves the field out.
	Values map[string]any
	// Where says in which clusters the advice is right: "where all nodes are in one layer 2
	// segment". It is empty for all.
	Where string
}

// String returns the advice for users: "write overlay.enabled: true".
func (e Edit) String() string {
	var write, leave []string
	for _, path := range slices.Sorted(maps.Keys(e.Values)) {
		if value := e.Values[path]; value != nil {
			write = append(write, fmt.Sprintf("%s: %v", path, value))
		} else {
			leave = append(leave, path)
		}
	}
	var advice []string
	if len(write) > 0 {
		advice = append(advice, "write "+strings.Join(write, " and "))
	}
	if len(leave) > 0 {
		advice = append(advice, "leave "+strings.Join(leave, " and ")+" out")
	}
	text := strings.Join(advice, " and ")
	if e.Where != "" {
		text = e.Where + " " + text
	}
	return text
}
