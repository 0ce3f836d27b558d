// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// Remover deletes MutatingWebhookConfigurations of webhooks that a program has served and serves
// no longer. API servers would refuse each object for which nothing answers. It is a manager's
// Runnable, and ends once there is nothing left to delete. Only the leader of a program's replicas
// removes, where one is elected.
type Remover struct {
	// Client reads and deletes the configurations, without a cache.
	Client client.Client
	// Names are the names of the configurations. One that the program may not read and delete
	// is left: the program has never kept it, or a user has taken its rights away.
	Names []string
	// Labels are those that the program's own configurations have. Others are left alone.
	Labels labels.Set
	// Clock is the source of time.
	Clock clock.WithTicker
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (r *Remover) NeedLeaderElection() bool { return true }

// Start deletes the configurations. It tries again what fails, until ctx ends.
func (r *Remover) Start(ctx context.Context) error {
	for {
		err := r.removeAll(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			logf.FromContext(ctx).Error(err, "Cannot remove the webhook configurations, which is tried again")
		}
		timer := r.Clock.NewTimer(period)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

func (r *Remover) removeAll(ctx context.Context) error {
	var errs []error
	for _, name := range r.Names {
		if err := r.remove(ctx, name); err != nil {
			errs = append(errs, fmt.Errorf("MutatingWebhookConfiguration %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (r *Remover) remove(ctx context.Context, name string) error {
	for _, verb := range []string{"get", "delete"} {
		if allowed, err := r.may(ctx, verb, name); err != nil || !allowed {
			return err
		}
	}
	present := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, present); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !r.Labels.AsSelector().Matches(labels.Set(present.Labels)) {
		return nil
	}
	seen := client.Preconditions{UID: &present.UID, ResourceVersion: &present.ResourceVersion}
	if err := r.Client.Delete(ctx, present, seen); err != nil {
		return client.IgnoreNotFound(err)
	}
	logf.FromContext(ctx).Info("Removed a webhook configuration whose webhooks are not served any longer", "configuration", name)
	return nil
}

// may reports whether the program may do something with a configuration.
func (r *Remover) may(ctx context.Context, verb, name string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: admissionregistrationv1.GroupName, Resource: "mutatingwebhookconfigurations", Name: name,
		},
	}}
	if err := r.Client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask for the right to %s it: %w", verb, err)
	}
	return review.Status.Allowed, nil
}
