// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/gate"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/internal/transition"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/pipeline/probe"
)

// walker has networks become what their specs ask for in steps, where the plugin has some.
type walker struct {
	requests *requests
	clock    clock.PassiveClock
}

// takeStep replaces what the spec asks for by a step on the way there: the one that was written last, or, if
// it is on all nodes and pods talk, the next one. The steps that are left always begin at what was
// written last, so that a spec that is turned back walks back.
func (w walker) takeStep(ctx context.Context, run *run) outcome.Outcome {
	if !run.builds || run.refused != nil {
		return outcome.Continue()
	}
	way, record := run.built.Transition, run.State.Transition
	if record == nil && !way.IsNeeded() {
		return outcome.Continue()
	}
	present := presentOf(&run.asked)
	plan := transition.Plan{Present: identityOf(present), Target: identityOf(run.built.Config)}
	if way == nil {
		way = w.lastStep(run, record, &plan)
	}
	if way == nil {
		run.State.Transition, run.steps = nil, true // the rest is made at once
		return outcome.Continue()
	}
	plan.From, plan.To = way.From, way.To
	for _, step := range way.Steps {
		plan.Steps = append(plan.Steps, transition.Next{Name: step.Name, Config: identityOf(step.Config)})
	}
	decided := transition.Judge(record, plan, w.observe(ctx, run, way), w.clock.Now())
	run.State.Transition, run.stepsAgain = decided.Record, decided.Again
	run.steps, run.arrived = decided.Advance, decided.Record == nil
	next := present
	if decided.Advance {
		next = way.Steps[0].Config
	}
	if identityOf(next) == plan.Target {
		return outcome.Continue()
	}
	request := run.asked
	request.Step = next
	w.requests.dump(ctx, &request)
	run.built = w.requests.Pipeline.Build(request)
	run.refused = inOneLine(run.built.Errors)
	return outcome.Continue()
}

// lastStep returns the way that is left where the plugin has no steps: none if the network has arrived, and one step
// if only the last is left, or the spec was turned back by one. Otherwise, the result is nil.
func (w walker) lastStep(run *run, record *transition.Record, plan *transition.Plan) *pipeline.Transition {
	step := pipeline.Step{Name: record.Last, Config: run.built.Config}
	switch {
	case plan.Present == plan.Target:
		return &pipeline.Transition{}
	case run.asked.AtOnce || run.asked.Facts.Hibernated:
		return nil
	case record.Before == plan.Target:
		step.Name = "as before the change"
	case record.Target != plan.Target:
		return nil
	}
	return &pipeline.Transition{From: record.To, To: record.From, Steps: []pipeline.Step{step}}
}

// observe finds out how far the step has come that was written last, and whether the nodes are ready for the next.
func (w walker) observe(ctx context.Context, run *run, way *pipeline.Transition) transition.Observation {
	ctx, cancel := context.WithTimeout(ctx, nodesTimeout)
	defer cancel()
	_, hasProbes := run.State.Bundle(probe.BundleName)
	seen := transition.Observation{
		Applied:       run.State.Written != nil && run.State.Applied == run.State.Written.Config && !run.State.Unapplied && run.notApplied() == nil,
		Connectivity:  condition.Get(run.Network.Status.Conditions, extensionsv1alpha1.PodNetworkAvailable),
		WithoutProbes: !hasProbes,
	}
	seen.Agents, seen.AgentsError = w.readAgents(ctx, run)
	if len(way.Steps) > 0 && way.Steps[0].Precondition != nil {
		unmet, err := gate.Unmet(ctx, w.requests.Shoots, run.Network.Namespace, way.Steps[0].Precondition, nodesMaxAge)
		seen.Unmet = unmet
		if err != nil {
			seen.Unmet = fmt.Errorf("the nodes cannot be read: %w", err)
		}
	}
	return seen
}

// readAgents reads how far the network's DaemonSets have been rolled out. It does not read the cache, which
// may still have those of the former step.
func (w walker) readAgents(ctx context.Context, run *run) ([]transition.Agent, error) {
	shoot, err := w.requests.Shoots.For(ctx, run.Network.Namespace)
	if err != nil {
		return nil, err
	}
	var agents []transition.Agent
	for _, component := range run.State.Components {
		if component.Kind != "DaemonSet" {
			continue
		}
		daemonSet := &appsv1.DaemonSet{}
		if err := shoot.Client.Get(ctx, client.ObjectKey{Namespace: component.Namespace, Name: component.Workload}, daemonSet); err != nil {
			return nil, shoot.Failure(err)
		}
		agents = append(agents, transition.AgentOf(daemonSet))
	}
	return agents, nil
}

// presentOf returns the config that the shoot has, or is about to have.
func presentOf(request *pipeline.Request) json.RawMessage {
	if request.Present != nil {
		return request.Present
	}
	return request.Applied.Config
}

// identityOf identifies an effective config, whatever the order of its keys.
func identityOf(config json.RawMessage) string {
	var value any
	if json.Unmarshal(config, &value) == nil {
		config, _ = json.Marshal(value) // it was decoded from JSON
	}
	sum := sha256.Sum256(config)
	return hex.EncodeToString(sum[:8])
}

// isUnderWay reports whether the network is on its way to what was accepted, which goes on although nothing
// asks for it.
func (r *run) isUnderWay() bool {
	return r.State != nil && (r.State.Transition != nil || r.State.Exchange != nil) && r.State.Written != nil &&
		r.State.Written.Config != nil && r.State.Written.Config.Accepted != nil
}

// isInTransition reports the same of a Network that no run has looked at.
func isInTransition(n *extensionsv1alpha1.Network) bool {
	kept, err := state.Decode(n.Status.State)
	return err == nil && (kept.Transition != nil || kept.Exchange != nil)
}
