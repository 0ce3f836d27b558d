// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/trellis-network/trellis/providers/routes"
)

// plan is what must be changed in the route tables, and what is there.
type plan struct {
	// remove, make and forward are what to change, in this order.
	remove, make []routes.Route
	forward      []string
	// without has the nodes that lack a route, by name.
	without map[string]lack
	// lost are routes to pods that lead nowhere and that Trellis has not made.
	lost []routes.Route
}

// lack is why a node lacks a route.
type lack struct {
	// reason is for users. It is empty if the route is being made.
	reason string
	// unknown means that the node states something that cannot be, so that it is not known whether it
	// has what it needs.
	unknown bool
}

// planned compares what nodes need with what is there.
func planned(nodes []nodeRoutes, pods []netip.Prefix, there *routes.Listing) *plan {
	p := &plan{without: map[string]lack{}}
	needed := map[netip.Prefix]bool{} // ranges whose routes stay
	for i := range nodes {
		for _, prefix := range nodes[i].ranges {
			needed[prefix] = true
		}
		p.addNode(&nodes[i], there)
	}
	for t := range there.Tables {
		for _, route := range there.Tables[t].Routes {
			switch {
			case needed[route.Destination]:
			case route.Owned:
				p.remove = append(p.remove, route)
			case route.Broken && slices.ContainsFunc(pods, func(all netip.Prefix) bool { return all.Overlaps(route.Destination) }):
				p.lost = append(p.lost, route)
			}
		}
	}
	return p
}

// addNode plans the routes of one node.
func (p *plan) addNode(n *nodeRoutes, there *routes.Listing) {
	name := n.node.Name
	machine, known := there.Machines[n.machine]
	switch {
	case n.problem != "":
		p.without[name] = lack{n.problem, true}
		return
	case !known:
		p.without[name] = lack{reason: fmt.Sprintf("the infrastructure has no machine %s of this cluster", n.machine)}
		return
	case len(there.Tables) == 0:
		p.without[name] = lack{reason: "the infrastructure has no route table of this cluster"}
		return
	}
	if !machine.Forwards {
		p.forward = append(p.forward, n.machine)
		p.without[name] = lack{}
	}
	for _, prefix := range n.ranges {
		if slices.ContainsFunc(machine.Assigned, func(assigned netip.Prefix) bool { return covers(assigned, prefix) }) {
			continue
		}
		for t := range there.Tables {
			p.addRoute(n, prefix, &there.Tables[t])
		}
	}
}

func covers(outer, inner netip.Prefix) bool {
	return outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
}

// addRoute plans a node's route in one table.
func (p *plan) addRoute(n *nodeRoutes, prefix netip.Prefix, table *routes.Table) {
	name := n.node.Name
	i := slices.IndexFunc(table.Routes, func(r routes.Route) bool { return r.Destination == prefix })
	switch {
	case i < 0 || table.Routes[i].Owned && table.Routes[i].Machine != n.machine:
		p.make = append(p.make, routes.Route{Table: table.ID, Destination: prefix, Machine: n.machine})
		if _, found := p.without[name]; !found {
			p.without[name] = lack{}
		}
	case table.Routes[i].Machine != n.machine:
		p.without[name] = lack{reason: fmt.Sprintf("the route table %s has a route to %s that Trellis has not made and that leads to %s; delete it",
			table.ID, prefix, table.Routes[i].Target)}
	case table.Routes[i].Broken:
		p.without[name] = lack{reason: fmt.Sprintf("the machine %s does not run", n.machine)}
	}
}
