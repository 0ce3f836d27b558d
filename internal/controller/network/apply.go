// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/seed"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
)

// reconcile carries out the spec as it is now, and writes nothing if that is
// already done. The order of its writes makes it safe to be killed between any
// two: while the status does not say Succeeded, or the annotation is still there,
// the next run starts over.
func (w *work) reconcile(ctx context.Context) (ctrl.Result, error) {
	asked := w.asked()
	kept, err := state.Decode(w.network.Status.State)
	if err != nil {
		return ctrl.Result{}, w.failed(ctx, nil, err)
	}
	if w.Standalone {
		kept.ShootGeneration = w.shoot.Generation
	}
	request, err := w.request(ctx, kept)
	kept.TakenOver = request.TakenOver
	if err != nil {
		return ctrl.Result{}, w.failed(ctx, kept, err)
	}
	built := w.Pipeline.Build(request)
	if len(built.Errors) > 0 {
		return w.invalid(ctx, asked, kept, inOneLine(built.Errors))
	}
	wanted, err := w.bundles(&built.Objects)
	defer wanted.release()
	if err != nil {
		return w.invalid(ctx, asked, kept, err)
	}
	next := &state.Written{
		Generation: w.demand.generation,
		Config:     built.Applied(),
		IPFamilies: built.IPFamilies,
		Warnings:   built.Warnings,
	}
	wanted.nameIn(next)
	if !asked && kept.Written.Equal(next) {
		done, err := w.areWritten(ctx, &wanted)
		switch {
		case err != nil:
			return ctrl.Result{}, w.failed(ctx, nil, err)
		case done:
			kept.Written = next
			return w.look(ctx, &wanted, kept)
		case w.isLeaving() && !succeeded(w.network): // it was begun
			return w.awaitGone(ctx)
		}
	}
	kept.Written, kept.Components = next, built.Objects.Components
	if err := w.begin(ctx, kept, asked); err != nil {
		return ctrl.Result{}, err
	}
	return w.carryOut(ctx, kept, &built, &wanted)
}

// carryOut writes the bundles. What it fails at is told, and to be retried.
func (w *work) carryOut(ctx context.Context, kept *state.State, built *pipeline.Result, wanted *bundles) (ctrl.Result, error) {
	if w.isLeaving() {
		return w.awaitGone(ctx) // see owes
	}
	if err := w.restoreSecrets(ctx, wanted); err != nil {
		return ctrl.Result{}, w.failed(ctx, nil, err)
	}
	if err := w.checkNodes(ctx, kept, built.Precondition); err != nil {
		return ctrl.Result{}, w.failed(ctx, nil, err)
	}
	w.tellChanges(built.Changes)
	written, err := w.write(ctx, wanted[seed.Main], w.managed[seed.Main])
	if err != nil {
		return ctrl.Result{}, w.failed(ctx, nil, fmt.Errorf("write the bundle for the shoot: %w", err))
	}
	if err := w.writeOthers(ctx, wanted); err != nil {
		return ctrl.Result{}, w.failed(ctx, nil, err)
	}
	if written && !w.sleeps() {
		return ctrl.Result{}, nil
	}
	return w.observeWritten(ctx, kept)
}

// areWritten says whether the bundles are as they were written last. What does not look
// so is read again, past the cache, which may only be late.
func (w *work) areWritten(ctx context.Context, wanted *bundles) (bool, error) {
	if wanted.written(w.managed) {
		return true, nil
	}
	if err := w.findManaged(ctx, w.live); err != nil {
		return false, err
	}
	return wanted.written(w.managed), nil
}

// isLeaving says whether the bundle for the shoot is being deleted, by whomever. Another
// one can only be written after it.
func (w *work) isLeaving() bool {
	mr := w.managed[seed.Main]
	return mr != nil && !mr.DeletionTimestamp.IsZero()
}

// look is what remains when all is written: wait for it to be applied. That an edit
// of the Shoot has changed nothing is noted, since the Shoot's controller waits for
// it.
func (w *work) look(ctx context.Context, wanted *bundles, kept *state.State) (ctrl.Result, error) {
	if err := w.restoreSecrets(ctx, wanted); err != nil {
		return ctrl.Result{}, err
	}
	n := w.network
	if succeeded(n) {
		kept.Applied, kept.TakenOver = kept.Written.Config, nil
	}
	if err := w.patch(ctx, func() error { return w.keep(kept) }); err != nil {
		return ctrl.Result{}, err
	}
	if succeeded(n) && n.Status.ObservedGeneration == n.Generation {
		return ctrl.Result{}, nil
	}
	return w.observeWritten(ctx, kept)
}

// request is the pipeline's Request for the Network.
func (w *work) request(ctx context.Context, kept *state.State) (pipeline.Request, error) {
	known := seed.Network{Network: w.network, Cluster: w.cluster, Shoot: w.shoot, State: kept, Main: w.managed[seed.Main]}
	request, err := known.Request(ctx, w.live, w.Pipeline, pipeline.Environment{FeatureGates: w.FeatureGates, Images: w.Images, Webhook: w.webhook()})
	request.Facts.Nodes = w.nodes(ctx, kept)
	if err != nil || w.DumpRequests == "" {
		return request, err
	}
	dump, err := json.MarshalIndent(request, "", "  ")
	if err != nil {
		return request, err
	}
	return request, os.WriteFile(filepath.Join(w.DumpRequests, w.network.Namespace+".json"), dump, 0o600)
}

// begin takes the Network over and says Processing. Whoever is killed in between
// must find it unfinished again: of one that has succeeded the status tells, so it
// is written first. Any other is unfinished anyway, and is taken over first, before
// there is anything in its status that could make others write to it meanwhile.
func (w *work) begin(ctx context.Context, kept *state.State, asked bool) error {
	if !succeeded(w.network) {
		if err := w.takeOver(ctx); err != nil {
			return err
		}
		return w.processing(ctx, kept, asked)
	}
	if err := w.processing(ctx, kept, asked); err != nil {
		return err
	}
	if demandOf(w.network) != w.demand {
		return errOvertaken
	}
	return w.takeOver(ctx)
}

// takeOver adds the finalizer, without which nothing may be made in the shoot,
// and takes the operation annotation away, in one request. It is refused if the Network
// is not as it was read: what is asked for anew must not be taken away.
func (w *work) takeOver(ctx context.Context) error {
	before := w.network.DeepCopy()
	added := controllerutil.AddFinalizer(w.network, extensionsv1alpha1.NetworkFinalizer)
	if w.network.Annotations[extensionsv1alpha1.OperationAnnotation] == extensionsv1alpha1.OperationReconcile {
		delete(w.network.Annotations, extensionsv1alpha1.OperationAnnotation)
	} else if !added {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := w.client.Patch(ctx, w.network, patch); err != nil {
		w.network = before
		return fmt.Errorf("take the Network over: %w", err)
	}
	return nil
}

// invalid ends a reconciliation that retrying won't cure: the bundle stays what
// it is, and nothing happens until the user changes something. What was written
// before is not waited for any more, so that its success is not taken for one of
// the spec.
func (w *work) invalid(ctx context.Context, asked bool, kept *state.State, cause error) (ctrl.Result, error) {
	kept.Written = nil
	begin := func() error { return w.takeOver(ctx) }
	if asked {
		begin = func() error { return w.begin(ctx, kept, true) }
	}
	if err := begin(); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, w.error(ctx, w.demand.generation, kept, cause, corev1beta1.ErrorConfigurationProblem)
}

// inOneLine is all that is wrong, as a status shows it.
func inOneLine(errs field.ErrorList) error {
	lines := make([]string, len(errs))
	for i, err := range errs {
		lines[i] = err.Error()
	}
	return errors.New(strings.Join(lines, "; "))
}

// failed writes an error that retrying may cure, and returns it to be retried. A
// nil state stays. What only came of a late cache is nothing to tell anybody, and when
// the time is up gaveUp tells.
func (w *work) failed(ctx context.Context, kept *state.State, cause error) error {
	if seed.IsStale(cause) || ctx.Err() != nil {
		return cause
	}
	if err := w.error(ctx, w.demand.generation, kept, cause, w.codesOf(cause)...); err != nil {
		logf.FromContext(ctx).Info("The error could not be written into the status", "reason", err.Error())
	}
	return cause
}

// sleeps says whether the shoot is hibernated: nothing is waited for then.
func (w *work) sleeps() bool {
	h := w.shoot.Spec.Hibernation
	return h != nil && h.Enabled != nil && *h.Enabled
}
