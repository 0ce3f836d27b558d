// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trellis-network/trellis/internal/outcome"
)

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;patch

const (
	// lookAgain is how often the Secret is looked at. What other replicas have put
	// there takes effect within that time, long before anybody relies on it.
	lookAgain = time.Minute
	// attempts is how often replicas that write at the same time get in each other's
	// way before it is an error.
	attempts = 5
)

// Options say what to keep, and where.
type Options struct {
	// Client reads and writes the Secret, and caches nothing of it.
	Client client.Client
	// Namespace and Name are the Secret's.
	Namespace, Name string
	// Hosts are the DNS names and IP addresses by which the server is reached.
	Hosts []string
	// Clock gives the time.
	Clock clock.WithTicker
}

// Keeper keeps the certificates. It is a manager's Runnable, for every replica.
type Keeper struct {
	Options
	changed chan struct{}

	mutex  sync.RWMutex
	known  *material
	bundle []byte
}

// New returns a Keeper that has certificates already.
func New(ctx context.Context, options Options) (*Keeper, error) {
	k := &Keeper{Options: options, changed: make(chan struct{}, 1)}
	if err := k.sync(ctx); err != nil {
		return nil, fmt.Errorf("keep the webhooks' certificates in the Secret %s/%s: %w", k.Namespace, k.Name, err)
	}
	return k, nil
}

// Bundle are the authorities, in PEM, that clients have to trust from now on.
func (k *Keeper) Bundle() []byte {
	k.mutex.RLock()
	defer k.mutex.RUnlock()
	return k.bundle
}

// Changed gives a sign when Bundle has changed. Several changes may give one.
func (k *Keeper) Changed() <-chan struct{} { return k.changed }

// Certificate is what to serve; it has the form that tls.Config asks for.
func (k *Keeper) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mutex.RLock()
	defer k.mutex.RUnlock()
	return k.known.serving.tls(), nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (k *Keeper) NeedLeaderElection() bool { return false }

// Start looks after the certificates until ctx ends. What fails is tried again: there
// are days left.
func (k *Keeper) Start(ctx context.Context) error {
	ticker := k.Clock.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
		if err := k.sync(ctx); err != nil && ctx.Err() == nil {
			logf.FromContext(ctx).Error(err, "The webhooks' certificates could not be looked after", "namespace", k.Namespace, "secret", k.Name)
		}
	}
}

// sync takes over what other replicas have written, and writes what is due.
func (k *Keeper) sync(ctx context.Context) error {
	var err error
	for range attempts {
		var next *material
		if next, err = k.write(ctx); err == nil {
			return k.publish(next)
		}
		if !outcome.IsStale(err) {
			return err
		}
	}
	return err
}

// write brings the Secret up to date, and returns what it holds.
func (k *Keeper) write(ctx context.Context) (*material, error) {
	secret := &corev1.Secret{}
	err := k.Client.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: k.Name}, secret)
	absent := apierrors.IsNotFound(err)
	if err != nil && !absent {
		return nil, err
	}
	there, unusable := k.read(ctx, secret, absent)
	next, err := there.renewed(k.Clock.Now(), k.Hosts)
	if err != nil || next == there && !unusable {
		return next, err
	}
	data, err := next.encode()
	if err != nil {
		return nil, err
	}
	if absent {
		return next, k.Client.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name}, Type: corev1.SecretTypeTLS, Data: data,
		})
	}
	before := secret.DeepCopy()
	secret.Data = data
	return next, k.Client.Patch(ctx, secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// read returns what the Secret holds or, if that is unusable, what this process knows:
// clients trust that, and would have to be told of anything else.
func (k *Keeper) read(ctx context.Context, secret *corev1.Secret, absent bool) (there *material, unusable bool) {
	cause := errors.New("it is not there")
	if !absent {
		if there, cause = decode(secret.Data); cause == nil {
			return there, false
		}
	}
	k.mutex.RLock()
	defer k.mutex.RUnlock()
	if there = k.known; there == nil {
		there = &material{}
	}
	if !absent || k.known != nil {
		logf.FromContext(ctx).Info("The webhooks' certificates are written anew", "namespace", k.Namespace, "secret", k.Name, "reason", cause.Error())
	}
	return there, true
}

func (k *Keeper) publish(next *material) error {
	bundle, err := next.bundle()
	if err != nil {
		return err
	}
	k.mutex.Lock()
	changed := k.known != nil && !bytes.Equal(k.bundle, bundle)
	k.known, k.bundle = next, bundle
	k.mutex.Unlock()
	if changed {
		select {
		case k.changed <- struct{}{}:
		default:
		}
	}
	return nil
}
