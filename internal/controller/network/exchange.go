// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/exchange"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/pipeline/probe"
)

const (
	// lookAtNodes is how often nodes are looked at that change from one network to another, and lookForNodes if none
	// is at a step.
	lookAtNodes, lookForNodes = 3 * time.Second, 10 * time.Second
	// exchangeTimeout limits one look at them, with what follows from it.
	exchangeTimeout = 30 * time.Second
)

// buildTypes builds the networks of a cluster whose type changes: first the one that runs, until it can share the
// cluster with the other one; then both, until all nodes have the one that the spec asks for; and then that one alone.
func (b *bundleBuilder) buildTypes(run *run) pipeline.Result {
	at, wanted := run.State.Exchange, run.asked.Spec.Type
	if at == nil || at.Base == nil {
		was := state.TypeOf(run.State.Applied)
		switch {
		case was == "" || was == wanted:
			return b.Pipeline.Build(run.asked)
		case !run.asked.ChangesType:
			return refusal(fmt.Errorf("cannot change from %s to %s in a running network: write %s again, or set the annotation %s to %s, and the nodes change one after the other",
				was, wanted, was, extensionsv1alpha1.ChangeTypeAnnotation, extensionsv1alpha1.ChangeTypeAllowed))
		}
		if at == nil {
			at = &state.Exchange{Since: metav1.NewTime(b.Clock.Now()).Rfc3339Copy()}
		}
	}
	next := *at
	next.Asked, run.exchange = run.asked.Accepted(), &next
	if next.Base == nil {
		return b.prepareTypes(run)
	}
	return b.buildBoth(run)
}

// prepareTypes builds the network that runs, as it must be before the type changes, or both if it is that one already.
// Before the first of its steps is written, nothing may stand in the way of the other type.
func (b *bundleBuilder) prepareTypes(run *run) pipeline.Result {
	running := run.asked.Again(run.State.Applied.Accepted)
	request, prepared, needed := b.Pipeline.PrepareExchange(running)
	run.exchange.Base = run.State.Applied
	built := b.buildBoth(run)
	if len(built.Errors) > 0 || !needed && run.State.Transition == nil {
		return built
	}
	run.exchange.Base, run.exchange.Other, run.asked = nil, nil, request
	return prepared
}

// buildBoth builds the networks of both types, or only the one that the spec asks for once all nodes have it.
func (b *bundleBuilder) buildBoth(run *run) pipeline.Result {
	at, wanted, request := *run.exchange, run.asked.Spec.Type, run.asked
	request.Applied, request.Present = at.Of(wanted), nil
	if at.Done == wanted {
		run.asked = request
		return b.Pipeline.Build(request)
	}
	run.exchange.Done = ""
	base, other := state.TypeOf(at.Base), state.TypeOf(at.Other)
	if wanted != base && other != "" && wanted != other {
		return refusal(fmt.Errorf("nodes are changing from %s to %s: write one of these two, and change the type again when that is done", base, other))
	}
	var built pipeline.Result
	if wanted == base {
		built = b.Pipeline.BuildExchange(request, request.Repeat(at.Other), wanted)
	} else {
		built = b.Pipeline.BuildExchange(request.Repeat(at.Base), request, wanted)
	}
	if len(built.Errors) > 0 {
		return built
	}
	run.changesType = built.Exchange
	if run.exchange.Other = built.Applied(); wanted == base {
		run.exchange.Base, run.exchange.Other = run.exchange.Other, at.Other
	}
	return built
}

// refusal is the Result for a type that cannot be had.
func refusal(why error) pipeline.Result {
	return pipeline.Result{Errors: field.ErrorList{field.Forbidden(field.NewPath("spec", "type"), why.Error())}}
}

// exchanger takes nodes from the network of one type to that of another.
type exchanger struct {
	requests *requests
	clock    clock.PassiveClock
}

// exchange looks at the nodes, and takes each one step further that is ready for it.
func (x exchanger) exchange(ctx context.Context, run *run) outcome.Outcome {
	at := run.State.Exchange
	if at == nil || !run.builds || run.refused != nil {
		return outcome.Continue()
	}
	if at.Base == nil {
		if run.State.Transition == nil { // the network that runs is ready
			run.stepsAgain = lookAtNodes
		}
		return outcome.Continue()
	}
	if run.notApplied() != nil || run.Shoot.IsHibernated() {
		return outcome.Continue()
	}
	if run.built.Exchange == nil { // the other network is gone
		run.State.Exchange = nil
		return outcome.Continue()
	}
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	verdict, err := x.step(ctx, run)
	run.stepsAgain = lookAtNodes
	if err != nil {
		at.WaitsFor = condition.Shorten("the shoot can be reached: "+err.Error(), condition.MaxMessage)
		return outcome.Continue()
	}
	at.NodesDone, at.WaitsFor = int32(verdict.NodesDone), condition.Shorten(verdict.WaitsFor, condition.MaxMessage)
	if len(verdict.Actions) == 0 && !verdict.Done {
		run.stepsAgain = lookForNodes
	}
	if verdict.Done {
		at.Done = run.asked.Spec.Type
	}
	return outcome.Continue()
}

// step looks at the nodes once, and does what follows.
func (x exchanger) step(ctx context.Context, run *run) (exchange.Verdict, error) {
	shoot, err := x.requests.Shoots.For(ctx, run.Network.Namespace)
	if err != nil {
		return exchange.Verdict{}, err
	}
	_, hasProbes := run.State.Bundle(probe.BundleName)
	cluster := exchange.Cluster{
		Client: shoot.Client, Evict: shoot.Evict, Base: run.built.Exchange.Base, Other: run.built.Exchange.Other, Agents: run.built.Exchange.Agents,
		Cleaner: types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: pipeline.CleanerName}, HasProbes: hasProbes,
	}
	nodes, err := cluster.Look(ctx)
	if err != nil {
		return exchange.Verdict{}, shoot.Failure(err)
	}
	at := run.State.Exchange
	at.Nodes, at.Halted = int32(len(nodes)), false
	limits := exchange.Limits{AtOnce: len(nodes) / 10, Paused: !run.asked.ChangesType} // drained nodes are missed
	if decided := run.built.Decisions; decided.FromAnnotation {
		limits.AtOnce = int(decided.MaxUnavailable)
	}
	if c := condition.Get(run.Network.Status.Conditions, extensionsv1alpha1.PodNetworkAvailable); hasProbes && c != nil && c.Status == corev1beta1.ConditionFalse {
		limits.Lost, at.Halted = c.Message, true
	}
	now := x.clock.Now()
	verdict := exchange.Next(nodes, run.asked.Spec.Type, limits, now)
	for _, action := range verdict.Actions {
		hindered, err := cluster.Do(ctx, action, now)
		if err != nil {
			return exchange.Verdict{}, shoot.Failure(err)
		}
		if hindered != "" {
			verdict.WaitsFor = fmt.Sprintf("node %s: %s", action.Node, hindered)
		}
	}
	return verdict, nil
}
