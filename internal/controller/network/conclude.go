// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/metrics"
	"github.com/trellis-network/trellis/internal/outcome"
)

// conclude turns the outcome of a run into the status, the events, the log line, the metrics
// and the answer for controller-runtime. A status is patched earlier only where it
// must be before another write: that an operation begins, that a request is pending, and
// that a deletion or a migration has succeeded.
func (r *Reconciler) conclude(ctx context.Context, run *run, ended outcome.Outcome, began time.Time) (ctrl.Result, error) {
	defer run.release()
	defer func() {
		r.networks.Expect(client.ObjectKeyFromObject(run.Network), "", run.Network.ResourceVersion)
	}()
	defer r.remember(run, ended)
	if run.unchanged || run.wrote {
		r.agreed.Set(client.ObjectKeyFromObject(run.Network), run.State.Bundles)
	}
	ended = r.report(ctx, run, ended)
	metrics.Reconciled("network", run.Network.Spec.Type, ended, r.Clock.Since(began))
	r.pace.conclude(ctx, run)
	if run.stepsAgain > 0 && ended.Err() == nil {
		ended = ended.Within(run.stepsAgain)
	}
	if ended.Err() == nil && ended.Kind() != outcome.Stale {
		r.status.announceStep(run)
	}
	if run.judgedAgain > 0 && ended.Err() == nil {
		ended = ended.Within(run.judgedAgain)
	}
	if (run.unchanged || run.wrote) && !run.held {
		metrics.Bundles(client.ObjectKeyFromObject(run.Network), run.Network.Spec.Type, run.measured()...)
	}
	return ended.Result()
}

// remember keeps what the next run of this process must know.
func (r *Reconciler) remember(run *run, ended outcome.Outcome) {
	name := client.ObjectKeyFromObject(run.Network)
	switch {
	case run.Managed == nil: // nothing was looked at
	case ended.Kind() == outcome.Stale && ended.Err() == nil: // the cache was late, so nothing was done
	case ended.Err() != nil && ended.Kind() != outcome.Terminal && run.builds:
		r.finished.Delete(name)
	default:
		r.finished.Set(name, run.Network.UID)
	}
	if ended.Kind() == outcome.Done {
		r.starts.Delete(name)
	}
}

// measured returns the sizes of the bundles.
func (r *run) measured() []metrics.Bundle {
	sizes := make([]metrics.Bundle, len(r.wanted))
	for i, each := range r.wanted {
		sizes[i] = metrics.Bundle{Name: each.Name, Objects: each.objects, Bytes: len(each.content.Data)}
	}
	return sizes
}

// release gives back what the contents of the bundles are in.
func (r *run) release() {
	putContents(r.wanted)
	r.wanted = nil
}

// report writes the status, with the events and the log line, and returns the outcome that
// this leaves. A Network that is gone needs no other run.
func (r *Reconciler) report(ctx context.Context, run *run, ended outcome.Outcome) outcome.Outcome {
	if isGone(ended.Err()) {
		return outcome.Finish()
	}
	if run.finalized || ended.IsPanic() || ctx.Err() != nil {
		return ended
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	err := r.writeReport(ctx, run, ended)
	if run.tooLarge {
		run.State, run.applied = nil, false
		ended = outcome.Fail(errors.New("the API server refuses the status of the Network as too large: shorten spec.providerConfig"), corev1beta1.ErrorConfigurationProblem)
		err = r.writeReport(ctx, run, ended)
	}
	switch {
	case err == nil && run.untold > 0 && ended.Kind() != outcome.Retry:
		return ended.Within(run.untold)
	case err == nil, isGone(err):
		return ended
	case ended.IsReported():
		logf.FromContext(ctx).Info("The error could not be written into the status", "reason", err.Error())
		if ended.Kind() == outcome.Retry {
			return ended
		}
	}
	return outcome.TryAgain(err)
}

// writeReport writes the status of a run that has ended.
func (r *Reconciler) writeReport(ctx context.Context, run *run, ended outcome.Outcome) error {
	switch {
	case run.applied:
		return r.status.applied(ctx, run)
	case ended.IsReported():
		return r.status.failed(ctx, run, ended)
	case ended.Kind() == outcome.Waiting:
		return r.status.awaiting(ctx, run)
	case ended.Err() == nil && ended.Kind() != outcome.Stale:
		return r.status.unchanged(ctx, run)
	}
	return nil
}

// isGone reports whether a request came too late for its Network.
func isGone(err error) bool {
	var answer apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &answer) {
		return false
	}
	details := answer.Status().Details
	return details != nil && details.Group == extensionsv1alpha1.GroupVersion.Group && details.Kind == "networks"
}

// explainTimeout makes an error of the run that was cut off by its own timeout tell so.
func (r *Reconciler) explainTimeout(ctx, limited context.Context, ended outcome.Outcome) outcome.Outcome {
	if ended.Kind() != outcome.Retry || limited.Err() == nil || ctx.Err() != nil {
		return ended
	}
	err := fmt.Errorf("not done within %s: %w", r.Timeout, ended.Err())
	return outcome.TryAgain(err, r.codes.of(err)...)
}
