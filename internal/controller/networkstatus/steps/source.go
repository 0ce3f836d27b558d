// SPDX-License-Identifier: Apache-2.0

// Package steps reports how far a Network has come that becomes what its spec asks for in steps: the
// condition TransitionProgressing, and providerStatus.transition. The controller of Networks takes the
// steps; the state has the one that it is at.
package steps

import (
	"cmp"
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
	"github.com/trellis-network/trellis/internal/keyed"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/internal/transition"
)

// StatusKey is the key in the providerStatus.
const StatusKey = "transition"

// figuresPeriod is how long the number of nodes stays as it is while the same step goes on: each pod
// changes it.
const figuresPeriod = 10 * time.Second

// Source reports about transitions.
type Source struct {
	figures keyed.Map[types.NamespacedName, figures]
}

// figures are how many nodes run a step, and since when the status has them.
type figures struct {
	since  time.Time // identifies the step
	agents []transition.Agent
	at     time.Time
}

var _ source.Source = &Source{}

// Report implements source.Source. A Network without a transition has neither.
func (s *Source) Report(ctx context.Context, in source.Input) (source.Report, error) {
	if in.State.Exchange != nil && in.State.Exchange.Base != nil {
		return ofExchange(in.Network.Spec.Type, in.State.Exchange), nil
	}
	at := in.State.Transition
	if at == nil {
		s.Forget(client.ObjectKeyFromObject(in.Network))
		return source.Report{}, nil
	}
	agents, again := s.pace(in, at, observe(ctx, in))
	status := corev1beta1.ConditionTrue
	if at.IsHalted() {
		status = corev1beta1.ConditionFalse
	}
	before := ""
	if in.State.Exchange != nil {
		before = fmt.Sprintf("The network routes natively before its type changes to %s. ", in.Network.Spec.Type)
	}
	told := extensionsv1alpha1.NetworkTransition{
		From: at.From, To: at.To, Step: int32(at.Step), Steps: int32(at.Steps), Name: at.Name,
		WaitsFor: at.WaitsFor(in.Network.Status.Conditions, agents), Since: at.Since,
	}
	if all, done := transition.Nodes(agents); len(agents) > 0 {
		told.Nodes, told.NodesDone = &all, &done
	}
	return source.Report{
		Conditions: []corev1beta1.Condition{{
			Type: extensionsv1alpha1.TransitionProgressing, Status: status, Reason: string(at.Phase),
			Message: before + at.Describe(in.Network.Status.Conditions, agents),
		}},
		ProviderStatus: map[string]any{StatusKey: told},
		RequeueAfter:   again,
	}, nil
}

// observe reads how far the agents have been rolled out; nothing if the shoot does not tell.
func observe(ctx context.Context, in source.Input) (agents []transition.Agent) {
	if in.Hibernated {
		return nil
	}
	shoot, err := in.Shoot(ctx)
	if err != nil {
		return nil
	}
	for _, component := range in.Components {
		if component.Kind != "DaemonSet" {
			continue
		}
		daemonSet := &appsv1.DaemonSet{}
		if shoot.Reader.Get(ctx, client.ObjectKey{Namespace: component.Namespace, Name: component.Workload}, daemonSet) != nil {
			return nil
		}
		agents = append(agents, transition.AgentOf(daemonSet))
	}
	return agents
}

// pace returns the figures that the status must have, and when that can change although the shoot does not, 0 for
// never. Those of another step, and that all nodes have it, are told at once.
func (s *Source) pace(in source.Input, at *transition.Record, seen []transition.Agent) (told []transition.Agent, again time.Duration) {
	all, done := transition.Nodes(seen)
	s.figures.Update(client.ObjectKeyFromObject(in.Network), func(before figures, known bool) (figures, bool) {
		age := in.Now.Sub(before.at)
		allBefore, doneBefore := transition.Nodes(before.agents)
		switch {
		case known && before.since.Equal(at.Since.Time) && all == allBefore && done == doneBefore:
		case known && before.since.Equal(at.Since.Time) && done < all && len(seen) > 0 && age >= 0 && age < figuresPeriod:
			again = figuresPeriod - age
		default:
			before = figures{at.Since.Time, seen, in.Now}
		}
		told = before.agents
		return before, true
	})
	return told, again
}

// Forget implements source.Source.
func (s *Source) Forget(network types.NamespacedName) { s.figures.Delete(network) }

// ofExchange reports how many nodes have the network of the type that the spec asks for.
func ofExchange(target string, at *state.Exchange) source.Report {
	from := state.TypeOf(at.Base)
	if from == target {
		from = state.TypeOf(at.Other)
	}
	waitsFor := cmp.Or(at.WaitsFor, "nodes change")
	status, reason := corev1beta1.ConditionTrue, "TypeChanging"
	if at.Halted {
		status, reason = corev1beta1.ConditionFalse, string(transition.Halted)
	}
	nodes, done := at.Nodes, at.NodesDone
	return source.Report{
		Conditions: []corev1beta1.Condition{{
			Type: extensionsv1alpha1.TransitionProgressing, Status: status, Reason: reason,
			Message: fmt.Sprintf("The type of the network changes from %s to %s, node by node: %d of %d nodes have changed. Waiting until %s.", from, target, done, nodes, waitsFor),
		}},
		ProviderStatus: map[string]any{StatusKey: extensionsv1alpha1.NetworkTransition{
			From: from, To: target, Step: 1, Steps: 1, Name: "node by node", Nodes: &nodes, NodesDone: &done, WaitsFor: waitsFor, Since: at.Since,
		}},
	}
}
