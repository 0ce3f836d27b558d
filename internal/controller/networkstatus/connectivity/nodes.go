// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// nodes are the nodes of a shoot by what may be expected of them.
type nodes struct {
	// excused has each node of the shoot: true if it is not missed, and its failing edges do
	// not count, since it is new, about to go, or gone.
	excused map[string]bool
	// joining are those that are excused because they are new, and for nothing else.
	joining map[string]bool
	// gone are those that are excused because nothing has been heard of them for long.
	gone []string
	// expected is the number of the others.
	expected int
}

func classify(list []corev1.Node, now time.Time) nodes {
	found := nodes{excused: make(map[string]bool, len(list)), joining: map[string]bool{}}
	var gone []string
	for i := range list {
		node := &list[i]
		switch {
		case shootclient.IsLeaving(node):
			found.excused[node.Name] = true
		case now.Sub(node.CreationTimestamp.Time) < joinPeriod:
			found.excused[node.Name], found.joining[node.Name] = true, true
		case isGone(node, now):
			gone = append(gone, node.Name)
		default:
			found.excused[node.Name] = false
			found.expected++
		}
	}
	tolerated := len(gone) <= max(1, (found.expected+len(gone))/tolerance)
	for _, node := range gone {
		found.excused[node] = tolerated
	}
	if !tolerated {
		found.expected += len(gone)
		return found
	}
	found.gone = gone
	slices.Sort(found.gone)
	return found
}

// excuses reports whether a failure of an edge from or to a node does not count. Of a new node it
// counts once this very edge has worked. That others work shows nothing about it: of a network that
// has just become ready, older reports and attempts still say that it fails.
func (n nodes) excuses(node string, r *connectivityv1alpha1.Result) bool {
	return n.excused[node] && !(n.joining[node] && r.Attempts-r.Failures >= provenAfter)
}

// isGone reports whether nothing has been heard of a node's kubelet for long.
func isGone(node *corev1.Node, now time.Time) bool {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionUnknown && now.Sub(c.LastTransitionTime.Time) >= goneAfter
		}
	}
	return false
}
