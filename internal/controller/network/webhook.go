// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/client-go/util/workqueue"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/seed"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// webhook is how the shoot's API server asks about the network's needs, if at all.
func (w *work) webhook() *plugin.Webhook {
	if w.Webhook == nil {
		return nil
	}
	return w.Webhook(w.network.Spec.Type)
}

// refreshWebhook tells the shoot's API server who answers it now, where that has
// changed since the network was written: it would refuse objects otherwise. Only what
// concerns others' objects is written again, of the spec that was accepted, so that it
// needs no operation of the user's, and an invalid spec does not hinder it.
func (w *work) refreshWebhook(ctx context.Context) error {
	definition, known := w.Pipeline.Plugin(w.network.Spec.Type)
	if !known || !definition.IsMutator() {
		return nil
	}
	kept, err := state.Decode(w.network.Status.State)
	if err != nil {
		return nil // whoever needs the state tells
	}
	last := kept.Applied
	if kept.Written != nil {
		last = kept.Written.Config
	}
	if last == nil || last.Accepted == nil || reflect.DeepEqual(last.Accepted.Facts.Webhook, w.webhook()) {
		return nil
	}
	built, err := w.buildAgain(ctx, kept, last)
	if err != nil {
		return err
	}
	if len(built.Errors) > 0 {
		logf.FromContext(ctx).Info("The shoot could not be told of the webhook that answers now", "reason", built.Errors.ToAggregate().Error())
		return nil
	}
	wanted, err := w.writeAdmission(ctx, &built.Objects)
	if err != nil {
		return fmt.Errorf("tell the shoot of the webhook that answers now: %w", err)
	}
	return w.patch(ctx, func() error {
		for _, applied := range []*pipeline.Applied{last, kept.Applied} {
			if applied != nil && applied.Accepted != nil {
				applied.Accepted.Facts.Webhook = w.webhook()
			}
		}
		if kept.Written != nil {
			kept.Written.Admission = wanted
		}
		return w.keep(kept)
	})
}

// buildAgain builds what was written last, with today's webhook.
func (w *work) buildAgain(ctx context.Context, kept *state.State, last *pipeline.Applied) (pipeline.Result, error) {
	request, err := w.request(ctx, kept)
	if err != nil {
		return pipeline.Result{}, err
	}
	request = request.Again(last.Accepted)
	request.Applied = last
	return w.Pipeline.Build(request), nil
}

// writeAdmission writes the bundle of that group alone and returns the name of its
// Secret, or deletes it where there is nothing in it any more.
func (w *work) writeAdmission(ctx context.Context, objects *plugin.Objects) (secret string, err error) {
	there := w.managed[seed.Admission]
	if len(seed.Admission.Of(objects)) == 0 {
		if settled(nil, there) {
			return "", nil
		}
		w.managed[seed.Admission] = nil
		_, err := bundle.Delete(ctx, w.client, w.live, w.network.Namespace, there.Name)
		return "", err
	}
	wanted, err := w.bundle(seed.Admission, seed.Admission.Of(objects))
	if err != nil || settled(wanted, there) {
		return wanted.SecretName(), err
	}
	mr, err := wanted.Write(ctx, w.client, there)
	if err == nil && mr != nil {
		w.managed[seed.Admission] = mr
		w.written = append(w.written, writing{mr.Name, mr.ResourceVersion})
	}
	return wanted.SecretName(), err
}

// webhookChanges asks for all Networks whose shoots may have to be told.
func (r *Reconciler) webhookChanges() source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-r.WebhookChanged:
				}
				for _, request := range r.networksIn(ctx, "", r.adapts) {
					queue.Add(request)
				}
			}
		}()
		return nil
	})
}

// adapts says whether a Network's shoot may ask what others' objects have to be like.
func (r *Reconciler) adapts(n *extensionsv1alpha1.Network) bool {
	definition, known := r.Pipeline.Plugin(n.Spec.Type)
	return known && definition.IsMutator()
}
