// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
)

const (
	// fewest is the least number of agents that may be unavailable at a time. One is not
	// enough: an agent may only get ready once another node has made the same step.
	fewest = 2
	// nodesPerAgent is the number of nodes of which one may be without its agent.
	nodesPerAgent = 10
	// leastSlack is how many nodes may at least come or go before the value in force changes.
	leastSlack = 5
)

// planRollout decides on how many nodes the agents may be unavailable: as many as the
// annotation states, or a tenth of the nodes.
func (b *build) planRollout() {
	if text := b.request.MaxUnavailable; text != "" {
		decided, err := strconv.ParseInt(text, 10, 32)
		if err != nil || strconv.FormatInt(decided, 10) != text || decided < 1 { // no +3, no 007
			path := field.NewPath("metadata", "annotations").Key(extensionsv1alpha1.MaxUnavailableAnnotation)
			b.Error(field.Invalid(path, text, `must be a whole number of nodes, 1 at least; write one such as "2", or remove the annotation`))
			return
		}
		b.in.Decisions = plugin.Decisions{MaxUnavailable: int32(decided), FromAnnotation: true}
		return
	}
	var inForce int32 // not that of an annotation which is gone
	if last := b.last; last != nil && last.Accepted != nil && !last.Accepted.Decisions.FromAnnotation {
		inForce = last.Accepted.Decisions.MaxUnavailable
	}
	b.in.MaxUnavailable = maxUnavailable(b.request.Nodes, inForce)
}

// rolloutErrors returns what is wrong with the annotation.
func (p *Pipeline) rolloutErrors(request *Request) field.ErrorList {
	b := p.begin(request)
	b.planRollout()
	return b.Errors
}

// maxUnavailable returns a tenth of the nodes. The value in force stays while the number of
// nodes is near to one that it fits, so that a node that joins or leaves does not change the
// DaemonSets. It also stays while the number is unknown, for example because the operator
// cannot read the agents' DaemonSet.
func maxUnavailable(nodes, inForce int32) int32 {
	if nodes <= 0 {
		return max(fewest, inForce)
	}
	slack := max(leastSlack, nodes/nodesPerAgent)
	if inForce >= fewest && share(nodes-slack) <= inForce && inForce <= share(nodes+slack) {
		return inForce
	}
	return share(nodes)
}

func share(nodes int32) int32 { return max(fewest, (nodes+nodesPerAgent-1)/nodesPerAgent) }
