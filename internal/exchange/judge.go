// SPDX-License-Identifier: Apache-2.0

// Package exchange takes the nodes of a cluster from the network of one type to that of another, one node
// after the other. A node that is at it is cordoned; its pods are evicted; the agents of its network leave; what
// they leave behind is cleaned up; the other agents come, and once the node's probe reaches the other
// nodes, the node is uncordoned.
//
// Next is a pure function of what is seen of a node. All that is known of where a node stands is on the Node
// itself, in its label and annotation, so that a process that ends at any time loses nothing, and a
// change that is turned back goes back from where it is.
package exchange

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// Step is what is being done with a node.
type Step string

const (
	// None means that the node is left alone.
	None Step = ""
	// Draining means that the node is cordoned and pods leave it.
	Draining Step = "Draining"
	// Cleaning means that the node has the agents of neither network, and the cleaner.
	Cleaning Step = "Cleaning"
	// Joining means that the node gets the agents of its new network.
	Joining Step = "Joining"
)

const (
	// drainPatience is how long a node may take to be drained before it counts as stuck, and another one
	// begins in its place.
	drainPatience = 15 * time.Minute
	// maxStuck is how many nodes may be stuck before no other one begins.
	maxStuck = 2
	// settleTime is how long the agents of the new network must have been ready where no probe tells whether
	// the node is reached.
	settleTime = 30 * time.Second
)

// Node is what is seen of a node. Pods are read only of nodes that are at a step.
type Node struct {
	Name string
	// Type is the type of network whose agents the node is to have now, extensionsv1alpha1.TypeNone for none.
	Type string
	// Step is what is being done, and Since since when.
	Step  Step
	Since time.Time
	// Ready is the condition of the kubelet.
	Ready bool
	// Leaving are pods that must leave the node while it is drained, and Stuck says of those that cannot why,
	// and what to do.
	Leaving []Pod
	Stuck   []string
	// Agents has the numbers of the pods of agents on the node, by type, and the cleaner's.
	Agents  map[string]Agents
	Cleaner Agents
	// Stale are pods with a network interface of a former network, which DaemonSets start again.
	Stale []Pod
	// Talks reports that the node's probe has reached all its targets since the step began; nil if there are no
	// probes.
	Talks *bool
}

// Agents are pods of DaemonSets on a node.
type Agents struct{ Pods, Ready, Wanted int }

// areReady reports whether all of them are there and ready.
func (a Agents) areReady() bool { return a.Wanted > 0 && a.Ready >= a.Wanted }

// Pod names a pod.
type Pod struct{ Namespace, Name string }

// Action is what to do with a node. Step and Type are those that it has next; Uncordon ends the change of the node.
type Action struct {
	Node     string
	Step     Step
	Type     string
	Begin    bool
	Uncordon bool
	// Evict and Delete are pods; Delete are those that start again by themselves.
	Evict, Delete []Pod
	// Waits is what the node waits for, for people; empty if it goes on now.
	Waits string
}

// next returns what to do with a node that is at a step, on its way to a type.
func (n *Node) next(target string, now time.Time) Action {
	stays := Action{Node: n.Name, Step: n.Step, Type: n.Type}
	goes := func(step Step, networkType string) Action { return Action{Node: n.Name, Step: step, Type: networkType} }
	switch n.Step {
	case Draining:
		switch {
		case n.Type == target: // turned back before anything was done to it
			return Action{Node: n.Name, Type: target, Uncordon: true}
		case len(n.Leaving) == 0 && len(n.Stuck) == 0:
			return goes(Cleaning, extensionsv1alpha1.TypeNone)
		}
		stays.Evict = n.Leaving
		stays.Waits = fmt.Sprintf("pods leave it (%d are left)", len(n.Leaving)+len(n.Stuck))
		if len(n.Stuck) > 0 {
			stays.Waits = n.Stuck[0]
		}
	case Cleaning:
		if left := n.agentsBut(""); left > 0 {
			stays.Waits = "the agents of the former network end"
			break
		}
		if n.Cleaner.areReady() {
			return goes(Joining, target)
		}
		stays.Waits = "what the former network has left behind is cleaned up"
	case Joining:
		switch {
		case n.Type != target: // turned back
			return goes(Cleaning, extensionsv1alpha1.TypeNone)
		case n.agentsBut(target) > 0, n.Cleaner.Pods > 0:
			stays.Waits = "the cleaner ends"
		case !n.Agents[target].areReady() || !n.Ready:
			stays.Waits = "the agents of the new network are ready, and the node"
		case len(n.Stale) > 0:
			stays.Delete, stays.Waits = n.Stale, "pods of DaemonSets start again with the new network"
		case n.Talks != nil && !*n.Talks:
			stays.Waits = "the node's probe reaches its targets"
		case n.Talks == nil && now.Sub(n.Since) < settleTime:
			stays.Waits = fmt.Sprintf("%s have passed, since there are no probes", settleTime)
		default:
			return Action{Node: n.Name, Type: target, Uncordon: true}
		}
	}
	return stays
}

// agentsBut returns how many pods of agents the node has of other types.
func (n *Node) agentsBut(networkType string) (sum int) {
	for each, agents := range n.Agents {
		if each != networkType {
			sum += agents.Pods
		}
	}
	return sum
}

// Limits are how fast nodes change.
type Limits struct {
	// AtOnce is how many nodes may be at a step at the same time.
	AtOnce int
	// Paused lets no other node begin; those that are at a step go on.
	Paused bool
	// Lost is why no other node may begin, since pods do not talk; empty if they do, or it is unknown.
	Lost string
}

// Verdict is what to do with the nodes of a cluster.
type Verdict struct {
	Actions []Action
	// Done reports that all nodes have the network of the target.
	Done bool
	// NodesDone is how many have it.
	NodesDone int
	// WaitsFor tells people what the change waits for.
	WaitsFor string
}

// Next returns what to do with nodes on their way to a type. Nodes begin in the order of their names.
func Next(nodes []Node, target string, limits Limits, now time.Time) Verdict {
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	verdict, busy := Verdict{}, 0
	var stuck []string
	for i := range nodes {
		n := &nodes[i]
		switch {
		case n.Step == None && n.Type == target:
			verdict.NodesDone++
		case n.Step != None:
			action := n.next(target, now)
			verdict.Actions = append(verdict.Actions, action)
			isStuck := action.Waits != "" && n.Step == Draining && now.Sub(n.Since) > drainPatience
			if isStuck {
				stuck = append(stuck, n.Name)
			} else {
				busy++
			}
			if action.Waits != "" && (verdict.WaitsFor == "" || isStuck) {
				verdict.WaitsFor = fmt.Sprintf("node %s: %s", n.Name, action.Waits)
			}
		}
	}
	verdict.Done = verdict.NodesDone == len(nodes)
	for i := range nodes {
		n := &nodes[i]
		if n.Step != None || n.Type == target {
			continue
		}
		switch {
		case limits.Paused:
			verdict.WaitsFor = cmp.Or(verdict.WaitsFor, "the annotation "+extensionsv1alpha1.ChangeTypeAnnotation+" has the value "+extensionsv1alpha1.ChangeTypeAllowed+" again")
		case len(stuck) > maxStuck:
			verdict.WaitsFor = fmt.Sprintf("nodes can be drained again: %d cannot, which are more than %d", len(stuck), maxStuck)
		case busy >= max(1, limits.AtOnce):
		case limits.Lost != "" && busy == 0:
			verdict.WaitsFor = cmp.Or(verdict.WaitsFor, "pods talk again: "+limits.Lost)
		case limits.Lost != "":
		default:
			verdict.Actions = append(verdict.Actions, Action{Node: n.Name, Step: Draining, Type: n.Type, Begin: true})
			busy++
			continue
		}
		break
	}
	return verdict
}
