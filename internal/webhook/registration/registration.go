// SPDX-License-Identifier: Apache-2.0

// Package registration keeps webhook configurations as a program wants them, with the
// authorities that clients must trust.
package registration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trellis-network/trellis/internal/webhook"
)

const (
	// period is the time between two looks at the configurations: so long an authority, or the
	// edit of another client, stays unnoticed. A new authority signs nothing for a month.
	period = time.Minute
	// soon is the time after which a failed look is repeated, and between looks whether the
	// server listens.
	soon = time.Second
)

// Keeper keeps webhook configurations. It is a manager's Runnable.
//
// It writes nothing before the server listens, and nothing while the configurations are right. It
// leaves them when it ends: API servers must not admit unchecked what comes meanwhile.
type Keeper struct {
	// Client reads and writes the configurations, without a cache.
	Client client.Client
	// Server has the webhooks.
	Server *webhook.Server
	// Wanted returns the configurations: Validating- and MutatingWebhookConfigurations, in which
	// each field is stated that an API server would set to a default.
	Wanted func() []client.Object
	// Leader has only the leader of a program's replicas keep them, where one is elected. Without
	// it all do: they want the same, and a replica that comes too late writes nothing.
	Leader bool
	// Clock is the source of time.
	Clock clock.WithTicker
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (k *Keeper) NeedLeaderElection() bool { return k.Leader }

// Start keeps the configurations until ctx ends.
func (k *Keeper) Start(ctx context.Context) error {
	for {
		wait := period
		if err := k.keep(ctx); err != nil && ctx.Err() == nil {
			wait = soon
			if !errors.Is(err, errNotListening) {
				logf.FromContext(ctx).Error(err, "Cannot keep the webhook configurations, which is tried again")
			}
		}
		timer := k.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

var errNotListening = errors.New("the webhook server does not listen yet")

func (k *Keeper) keep(ctx context.Context) error {
	if k.Server.Listening() != nil {
		return errNotListening
	}
	var errs []error
	for _, wanted := range k.Wanted() {
		if err := k.write(ctx, wanted); err != nil {
			errs = append(errs, fmt.Errorf("%T %s: %w", wanted, wanted.GetName(), err))
		}
	}
	return errors.Join(errs...)
}

// write creates a configuration, or replaces what differs from it. Labels and annotations of
// others stay.
func (k *Keeper) write(ctx context.Context, wanted client.Object) error {
	var present client.Object
	var replace func()
	switch wanted := wanted.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		found := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		present, replace = found, func() { found.Webhooks = wanted.Webhooks }
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		found := &admissionregistrationv1.MutatingWebhookConfiguration{}
		present, replace = found, func() { found.Webhooks = wanted.Webhooks }
	default:
		return errors.New("is no webhook configuration")
	}
	err := k.Client.Get(ctx, client.ObjectKeyFromObject(wanted), present)
	if apierrors.IsNotFound(err) {
		return k.Client.Create(ctx, wanted)
	}
	if err != nil {
		return err
	}
	before := present.DeepCopyObject()
	labels := map[string]string{}
	maps.Copy(labels, present.GetLabels())
	maps.Copy(labels, wanted.GetLabels())
	present.SetLabels(labels)
	replace()
	if equality.Semantic.DeepEqual(before, present) {
		return nil
	}
	return k.Client.Update(ctx, present)
}
