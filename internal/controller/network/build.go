// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/metrics"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// bundleBuilder has the pipeline build bundles.
type bundleBuilder struct {
	Options
	cached, live client.Reader
	codes        codes
}

// build builds the bundles, and finds out whether they are written already. What users
// can mend about the spec becomes run.refused.
func (b *bundleBuilder) build(ctx context.Context, run *run) outcome.Outcome {
	if !run.builds {
		return outcome.Continue()
	}
	if run.stateErr != nil {
		return outcome.TryAgain(run.stateErr)
	}
	if b.Standalone {
		run.state.ShootGeneration = run.shoot.Generation
	}
	request, err := b.newRequest(ctx, run)
	run.state.TakenOver = request.TakenOver
	if err != nil {
		return outcome.TryAgain(err, b.codes.of(err)...)
	}
	run.built = b.Pipeline.Build(request)
	if run.refused = inOneLine(run.built.Errors); run.refused == nil {
		run.wanted, run.refused = bundlesOf(run, run.built.Objects.Bundles)
	}
	if run.refused != nil {
		run.state.Written = nil // so that its success is not taken for that of the spec
		return outcome.Continue()
	}
	metrics.Bundles(client.ObjectKeyFromObject(run.network), run.network.Spec.Type, run.measured()...)
	isUnknown := func(each wantedBundle) bool { return run.managed[each.Name] == nil }
	if slices.ContainsFunc(run.wanted, isUnknown) {
		if err := run.read(ctx, b.cached); err != nil {
			return outcome.TryAgain(err)
		}
	}
	return b.compare(ctx, run)
}

// compare finds out whether the bundles are written as they were built, and puts them into
// the state. It waits where one can only be written after its former one is gone.
func (b *bundleBuilder) compare(ctx context.Context, run *run) outcome.Outcome {
	next := &state.Written{
		Generation: run.request.generation,
		Config:     run.built.Applied(),
		IPFamilies: run.built.IPFamilies,
		Warnings:   run.built.Warnings,
	}
	bundles := make([]state.Bundle, len(run.wanted))
	for i := range run.wanted {
		bundles[i] = run.wanted[i].Bundle
	}
	same := !run.asked && run.state.IsFor(next, bundles)
	if same && !run.isWritten() { // the cache may be late
		if err := run.read(ctx, b.live); err != nil {
			return outcome.TryAgain(err)
		}
	}
	run.unchanged = same && run.isWritten()
	if same && !run.unchanged && run.isDeletingAwaited() && !succeeded(run.network) {
		return awaitDeletion(run, b.Clock.Now())
	}
	run.state.Written, run.state.Bundles = next, bundles
	if !run.unchanged {
		run.state.Components = run.built.Objects.Components
	}
	return outcome.Continue()
}

// newRequest makes the pipeline's Request for the Network.
func (b *bundleBuilder) newRequest(ctx context.Context, run *run) (pipeline.Request, error) {
	request, err := run.known().Request(ctx, b.live, b.Pipeline, plugin.Environment{
		FeatureGates: b.FeatureGates, Images: b.Images, Webhook: b.webhookOf(run.network.Spec.Type),
	})
	request.Nodes = b.countNodes(ctx, run)
	if err != nil || b.DumpRequests == "" {
		return request, err
	}
	dump, err := json.MarshalIndent(request, "", "  ")
	if err != nil {
		return request, err
	}
	return request, os.WriteFile(filepath.Join(b.DumpRequests, run.network.Namespace+".json"), dump, 0o600)
}

// buildAgain builds what was accepted last, with today's webhook.
func (b *bundleBuilder) buildAgain(ctx context.Context, run *run, last *pipeline.Applied) (pipeline.Result, error) {
	request, err := b.newRequest(ctx, run)
	if err != nil {
		return pipeline.Result{}, err
	}
	request = request.Again(last.Accepted)
	request.Applied = last
	return b.Pipeline.Build(request), nil
}

// webhookOf returns how API servers of shoots reach the webhook for a type of networks,
// nil if there is none.
func (b *bundleBuilder) webhookOf(networkType string) *plugin.Webhook {
	if b.Webhook == nil {
		return nil
	}
	return b.Webhook(networkType)
}

// countNodes returns the number of nodes of a network that runs, as the DaemonSet of its
// agents counts them, from the cache of the shoot. 0 means that it cannot be seen, which
// leaves a roll-out as it is.
func (b *bundleBuilder) countNodes(ctx context.Context, run *run) int32 {
	if run.state.Applied == nil || run.shoot.IsHibernated() {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, nodesTimeout)
	defer cancel()
	shoot, err := b.Shoots.For(ctx, run.network.Namespace)
	if err != nil {
		return 0
	}
	for _, component := range run.state.Components {
		agents := &appsv1.DaemonSet{}
		if component.Kind == "DaemonSet" &&
			shoot.Reader.Get(ctx, client.ObjectKey{Namespace: component.Namespace, Name: component.Workload}, agents) == nil {
			return agents.Status.DesiredNumberScheduled
		}
	}
	return 0
}

// contents are slices for the contents of bundles. A run that finds nothing to do only
// compares what it has built.
var contents = sync.Pool{New: func() any { return new([]byte) }}

// bundlesOf returns what bundles are written as, in ascending phases.
func bundlesOf(run *run, bundles []plugin.Bundle) ([]wantedBundle, error) {
	wanted := make([]wantedBundle, len(bundles))
	for i := range bundles {
		each := &bundles[i]
		data, err := pipeline.AppendDocuments((*contents.Get().(*[]byte))[:0], each.Objects)
		if err != nil {
			return nil, fmt.Errorf("encode the objects of the bundle %s: %w", each.Name, err)
		}
		content := &bundle.Bundle{
			Namespace: run.network.Namespace, Name: each.Name, Network: run.network.Name,
			Origin: run.plugin.Origin, Target: each.Target, Data: data,
		}
		wanted[i] = wantedBundle{state.BundleOf(each, content.SecretName()), content, len(each.Objects)}
	}
	slices.SortStableFunc(wanted, func(a, b wantedBundle) int { return a.Phase - b.Phase })
	return wanted, nil
}

// inOneLine returns all errors as a status shows them, nil if there are none.
func inOneLine(errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	lines := make([]string, len(errs))
	for i, err := range errs {
		lines[i] = err.Error()
	}
	return errors.New(strings.Join(lines, "; "))
}
