// SPDX-License-Identifier: Apache-2.0

// Package certificates creates the certificates of the operator's webhook server, keeps
// them in a Secret that all replicas share, and replaces them before they expire.
//
// The bundle contains an authority long before it signs a serving certificate, and as long
// as such a certificate may be in use, since clients get the bundle with a delay. The
// package does not know how.
//
// It exists because github.com/open-policy-agent/cert-controller replaces its authority in one
// step: until all API servers have the new bundle, they refuse what is served.
package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trellis-network/trellis/internal/outcome"
)

// period is the time between two reads of the Secret. What another replica writes
// takes effect within that time, long before a client depends on it.
const period = time.Minute

// Options are the settings of a Keeper.
type Options struct {
	// Client reads and writes the Secret without a cache.
	Client client.Client
	// Namespace and Name are the Secret's.
	Namespace, Name string
	// Hosts are the DNS names and IP addresses of the server.
	Hosts []string
	// Clock is the source of time.
	Clock clock.WithTicker
}

// Keeper keeps the certificates up to date. It is a manager's Runnable that runs in every
// replica.
type Keeper struct {
	Options
	changed chan struct{}
	known   atomic.Pointer[material]
}

// New returns a Keeper that has certificates.
func New(ctx context.Context, options Options) (*Keeper, error) {
	k := &Keeper{Options: options, changed: make(chan struct{}, 1)}
	k.known.Store(&material{})
	if err := k.sync(ctx); err != nil {
		return nil, fmt.Errorf("keep the webhooks' certificates in the Secret %s/%s: %w", k.Namespace, k.Name, err)
	}
	return k, nil
}

// Bundle returns the authorities, in PEM, that clients must trust from now on.
func (k *Keeper) Bundle() []byte { return k.known.Load().bundle }

// Changed receives a value when Bundle has changed, one for several changes in a row.
func (k *Keeper) Changed() <-chan struct{} { return k.changed }

// Certificate returns the certificate to serve; it is a tls.Config.GetCertificate.
func (k *Keeper) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return k.known.Load().serving, nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (k *Keeper) NeedLeaderElection() bool { return false }

// Start keeps the certificates up to date until ctx ends. After an error it tries again in
// the next period, since certificates are replaced days before they expire.
func (k *Keeper) Start(ctx context.Context) error {
	ticker := k.Clock.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
		if err := k.sync(ctx); err != nil && ctx.Err() == nil {
			logf.FromContext(ctx).Error(err, "Cannot renew the certificates of the webhooks", "namespace", k.Namespace, "secret", k.Name)
		}
	}
}

// sync reads what other replicas have written, and renews what is due. It tries again
// after a conflict with another replica.
func (k *Keeper) sync(ctx context.Context) error {
	return retry.OnError(retry.DefaultRetry, outcome.IsStale, func() error {
		next, err := k.write(ctx)
		if err != nil {
			return err
		}
		if before := k.known.Swap(next); before.bundle != nil && !bytes.Equal(before.bundle, next.bundle) {
			select {
			case k.changed <- struct{}{}:
			default:
			}
		}
		return nil
	})
}

// write brings the Secret up to date, and returns its content. What replaces an unusable
// content is what this process has: clients trust it already.
func (k *Keeper) write(ctx context.Context) (*material, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name}, Type: corev1.SecretTypeTLS}
	err := k.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	absent := apierrors.IsNotFound(err)
	if err != nil && !absent {
		return nil, err
	}
	current, unusable := decode(secret.Data)
	if unusable != nil {
		if current = k.known.Load(); !absent || current.bundle != nil {
			logf.FromContext(ctx).Info("The certificates of the webhooks are unusable and are written again", "namespace", k.Namespace, "secret", k.Name, "reason", unusable.Error())
		}
	}
	next, err := current.renewed(k.Clock.Now(), k.Hosts)
	if err != nil || next == current && unusable == nil {
		return next, err
	}
	before := secret.DeepCopy()
	if secret.Data, err = next.encode(); err != nil {
		return nil, err
	}
	next = &material{next.authorities, next.serving, secret.Data[authorityCertificates]}
	if absent {
		return next, k.Client.Create(ctx, secret)
	}
	return next, k.Client.Patch(ctx, secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}
