// SPDX-License-Identifier: Apache-2.0

package tokenrequestor

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

const (
	// unreachableRetry is when to try again with a shoot that did not answer, or
	// refused.
	unreachableRetry = time.Minute
	// conflictRetry is when to look again at a Secret that somebody has changed
	// meanwhile.
	conflictRetry = time.Second
)

// tokens fills the Secrets that ask for a token.
type tokens struct {
	// client writes to the seed.
	client client.Client
	// cached reads the metadata of Secrets from a cache, live reads Secrets without
	// one, so that tokens do not lie about in memory.
	cached, live client.Reader
	options      Options
}

var _ reconcile.Reconciler = &tokens{}

// Reconcile implements reconcile.Reconciler.
func (t *tokens) Reconcile(ctx context.Context, named reconcile.Request) (reconcile.Result, error) {
	secret := &corev1.Secret{}
	if err := t.live.Get(ctx, named.NamespacedName, secret); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !t.asksForToken(secret) || !secret.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	wanted, err := parse(secret)
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	shoot, err := t.options.Shoots.For(ctx, named.Namespace)
	if err == nil {
		err = shoot.Failure(t.fill(ctx, shoot, secret, wanted))
	}
	switch {
	case err == nil:
		return reconcile.Result{RequeueAfter: t.untilNext(wanted)}, nil
	case errors.As(err, new(*shootclient.NoAccessError)):
		// The Secret that will give access wakes us.
		return reconcile.Result{}, nil
	case errors.As(err, new(*shootclient.UnreachableError)), errors.As(err, new(*shootclient.RefusedError)):
		log.FromContext(ctx).Info("No token was requested", "cause", err.Error())
		return reconcile.Result{RequeueAfter: unreachableRetry}, nil
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: conflictRetry}, nil
	}
	return reconcile.Result{}, err
}

// untilNext is when to look again: when the token has to be renewed, or when it is
// to be checked.
func (t *tokens) untilNext(wanted *request) time.Duration {
	return max(time.Second, min(wanted.renewal.Sub(t.options.Clock.Now()), t.options.Period))
}

// fill makes sure that a valid token is where it is wanted.
func (t *tokens) fill(ctx context.Context, shoot *shootclient.Shoot, secret *corev1.Secret, wanted *request) error {
	holder := secret
	if wanted.inTarget() {
		holder = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: wanted.target.Namespace, Name: wanted.target.Name}}
		if err := client.IgnoreNotFound(shoot.Client.Get(ctx, wanted.target, holder)); err != nil {
			return err
		}
	}
	filled, err := contentOf(holder.Data, secret.Data)
	if err != nil {
		return reconcile.TerminalError(fmt.Errorf("the key %s of the Secret %s/%s: %w", keyKubeconfig, secret.Namespace, secret.Name, err))
	}
	good, err := t.isGood(ctx, shoot, filled.token, wanted)
	if err != nil {
		return err
	}
	if !good || !wanted.inTarget() {
		if err := ensureServiceAccount(ctx, shoot.Client, wanted); err != nil {
			return err
		}
	}
	if !good {
		if err := t.renew(ctx, shoot.Client, filled, wanted); err != nil {
			return err
		}
	}
	filled.bundle = nil
	if wanted.withCA {
		filled.bundle = shoot.CertificateAuthority
	}
	if wanted.inTarget() {
		if err := writeTarget(ctx, shoot.Client, holder, filled); err != nil {
			return err
		}
	}
	return t.writeSource(ctx, secret, filled, wanted)
}

// writeSource writes the Secret that has asked, if it is to change. The patch is
// refused if somebody else has changed it.
func (t *tokens) writeSource(ctx context.Context, secret *corev1.Secret, filled *content, wanted *request) error {
	before := secret.DeepCopy()
	if wanted.inTarget() {
		for _, key := range []string{keyToken, keyKubeconfig, keyBundle} {
			delete(secret.Data, key)
		}
	} else {
		secret.Data = filled.into(secret.Data)
	}
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, resourcesv1alpha1.TokenRenewTimestamp, wanted.renewal.UTC().Format(time.RFC3339))
	if sameData(before.Data, secret.Data) &&
		before.Annotations[resourcesv1alpha1.TokenRenewTimestamp] == secret.Annotations[resourcesv1alpha1.TokenRenewTimestamp] {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(t.client.Patch(ctx, secret, patch))
}
