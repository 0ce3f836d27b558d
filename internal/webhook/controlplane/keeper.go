// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"maps"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// period is the time between two looks at the configuration: so long an authority, or the edit of
// another client, stays unnoticed. A new authority signs nothing for a month.
const period = time.Minute

// Keeper keeps the configuration of webhooks in the seed. It is a manager's Runnable that runs in the
// leader, after the webhook server has started. When it ends it leaves the configuration, since
// nothing may be written without what the webhooks add.
type Keeper struct {
	// Client reads and writes the configuration, without a cache.
	Client client.Client
	// Wanted returns the configuration.
	Wanted func() *admissionregistrationv1.MutatingWebhookConfiguration
	// Clock is the source of time.
	Clock clock.WithTicker
}

// Start keeps the configuration until ctx ends.
func (k *Keeper) Start(ctx context.Context) error {
	ticker := k.Clock.NewTicker(period)
	defer ticker.Stop()
	for {
		if err := k.keep(ctx); err != nil && ctx.Err() == nil {
			logf.FromContext(ctx).Error(err, "Cannot register webhooks, which is tried again", "configuration", k.Wanted().Name)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// keep creates the configuration, or replaces what differs from it. Labels of others stay.
func (k *Keeper) keep(ctx context.Context) error {
	wanted := k.Wanted()
	current := &admissionregistrationv1.MutatingWebhookConfiguration{}
	err := k.Client.Get(ctx, client.ObjectKeyFromObject(wanted), current)
	if apierrors.IsNotFound(err) {
		return k.Client.Create(ctx, wanted)
	}
	if err != nil {
		return err
	}
	next := current.DeepCopy()
	next.Webhooks, next.Labels = wanted.Webhooks, map[string]string{}
	maps.Copy(next.Labels, current.Labels)
	maps.Copy(next.Labels, wanted.Labels)
	if equality.Semantic.DeepEqual(current, next) {
		return nil
	}
	return k.Client.Update(ctx, next)
}
