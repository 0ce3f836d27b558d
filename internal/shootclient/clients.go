// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/metrics"
)

// Access gives access to clusters by the control-plane namespace. *Clients is one,
// and *Seed another, which gives the seed for every namespace.
type Access interface {
	// For returns access to the cluster, or an error that says why there is none.
	For(ctx context.Context, namespace string) (*Shoot, error)
	// Declare adds to what is cached of the clusters. It must be called before For.
	Declare(watches ...Watch)
}

var (
	_ Access = &Clients{}
	_ Access = &Seed{}
)

// sweepInterval is how often Clients look for shoots that are gone or not used any more.
const sweepInterval = 10 * time.Second

// Clients gives access to shoots. Its methods may be called concurrently. As a Runnable of
// a manager it closes shoots that are gone or not used, and everything at the end.
type Clients struct {
	declarations
	subscribers
	options Options

	mu     sync.Mutex
	slots  map[string]*slot
	closed bool
}

// slot holds the access to one shoot. Its lock is held while the shoot is being
// contacted, so that several controllers do it once, and only for that shoot.
type slot struct {
	// outage is why the shoot could not be reached last, nil if it could.
	outage atomic.Pointer[outage]
	// wire limits all connections to it, also those with another kubeconfig.
	wire *meter

	mu     sync.Mutex
	gone   bool
	asked  time.Time
	secret secretVersion
	shoot  *Shoot
}

// outage is why a shoot could not be reached with a Secret.
type outage struct {
	secret secretVersion
	err    *UnreachableError
}

// secretVersion tells one content of a Secret from all others.
type secretVersion struct {
	name            string
	uid             types.UID
	resourceVersion string
}

// New makes Clients.
func New(options Options) *Clients {
	options.setDefaults()
	return &Clients{options: options, slots: map[string]*slot{}}
}

// For returns access to the shoot whose control plane is in namespace, with the kubeconfig
// that the Secret there has now. It sends no request if nothing has changed and the shoot
// answered last. The error is a *NoAccessError, an *UnreachableError, a *RefusedError, or
// one of the seed's API server.
//
// Callers must not keep a Shoot beyond a reconciliation.
func (c *Clients) For(ctx context.Context, namespace string) (*Shoot, error) {
	version, err := c.versionOf(ctx, namespace)
	if err != nil {
		if apierrors.IsNotFound(err) {
			c.Forget(namespace)
			return nil, &NoAccessError{Namespace: namespace, Secret: version.name, Err: err}
		}
		return nil, err
	}
	s, err := c.lockedSlot(namespace, version)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	s.asked = c.options.Clock.Now()
	if s.shoot != nil && s.secret == version && !(s.shoot.isFull() && s.asked.Sub(s.shoot.opened) >= c.options.IdleTimeout) {
		return s.shoot, s.reach(ctx)
	}
	s.close()
	if err := c.open(ctx, s, namespace, version.name); err != nil {
		return nil, err
	}
	return s.shoot, s.reach(ctx)
}

// Forget ends the access to a shoot: its watches stop, its connections close. For opens it
// again.
func (c *Clients) Forget(namespace string) {
	c.mu.Lock()
	s := c.slots[namespace]
	delete(c.slots, namespace)
	c.mu.Unlock()
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gone = true
		s.close()
		metrics.ForgetShoot(namespace)
	}
}

// Start implements manager.Runnable.
func (c *Clients) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, c.sweep, sweepInterval)
	c.Close()
	return nil
}

// sweep ends the access to shoots whose Secret is gone, and to those that no controller has
// asked for within the IdleTimeout: no event tells of a control plane that has moved to
// another seed.
func (c *Clients) sweep(ctx context.Context) {
	c.mu.Lock()
	open := maps.Clone(c.slots)
	c.mu.Unlock()
	for namespace, s := range open {
		if !s.mu.TryLock() {
			continue // a controller asks for it
		}
		unused := c.options.Clock.Since(s.asked) >= c.options.IdleTimeout
		if s.shoot != nil {
			s.shoot.mapper.forget(sweepInterval)
		}
		s.mu.Unlock()
		if !unused {
			_, err := c.versionOf(ctx, namespace)
			unused = apierrors.IsNotFound(err)
		}
		if unused {
			c.Forget(namespace)
		}
	}
}

// Close ends the access to all shoots, and returns when all watches have ended.
func (c *Clients) Close() {
	c.mu.Lock()
	c.closed = true
	namespaces := slices.Collect(maps.Keys(c.slots))
	c.mu.Unlock()
	for _, namespace := range namespaces {
		c.Forget(namespace)
	}
}

// versionOf finds the first Secret that exists. If there is none, the error is about the
// last.
func (c *Clients) versionOf(ctx context.Context, namespace string) (version secretVersion, err error) {
	for _, name := range c.options.SecretNames {
		secret := &metav1.PartialObjectMetadata{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		err = c.options.Metadata.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
		version = secretVersion{name, secret.UID, secret.ResourceVersion}
		if !apierrors.IsNotFound(err) {
			break
		}
	}
	return version, err
}

// lockedSlot returns the slot of a namespace, locked. While another goroutine tries to
// reach the shoot, it returns why the shoot could not be reached last.
func (c *Clients) lockedSlot(namespace string, secret secretVersion) (*slot, error) {
	for {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return nil, errClosed
		}
		s, ok := c.slots[namespace]
		if !ok {
			s = &slot{wire: newMeter()}
			c.slots[namespace] = s
		}
		c.mu.Unlock()
		// Only one worker at a time waits for a shoot that does not answer.
		if !s.mu.TryLock() {
			if last := s.outage.Load(); last != nil && last.secret == secret {
				return nil, last.err
			}
			s.mu.Lock()
		}
		if !s.gone {
			return s, nil
		}
		// Forgotten between the two locks.
		s.mu.Unlock()
	}
}

func (c *Clients) open(ctx context.Context, s *slot, namespace, name string) error {
	secret := &corev1.Secret{}
	if err := c.options.Secrets.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return &NoAccessError{Namespace: namespace, Secret: name, Err: err}
		}
		return fmt.Errorf("read Secret %s/%s: %w", namespace, name, err)
	}
	connection, err := connect(secret.Data[SecretKey], namespace, s.wire, &c.options)
	if err != nil {
		return &NoAccessError{Namespace: namespace, Secret: name, Err: err}
	}
	shoot, err := newShoot(namespace, connection, &c.options, &c.declarations, c.subscribers.tell)
	if err != nil {
		return &NoAccessError{Namespace: namespace, Secret: name, Err: err}
	}
	shoot.secret = cmp.Or(secret.Annotations[CopyOf], namespace+"/"+name)
	s.shoot, s.secret = shoot, secretVersion{name, secret.UID, secret.ResourceVersion}
	return nil
}

// reach contacts the shoot if that is necessary, and remembers the outcome.
func (s *slot) reach(ctx context.Context) error {
	err := s.shoot.reach(ctx)
	var found *outage
	if unreachable := new(UnreachableError); errors.As(err, &unreachable) {
		found = &outage{s.secret, unreachable}
	}
	s.outage.Store(found)
	metrics.Shoot(s.shoot.Namespace, stateOf(err))
	return err
}

// stateOf returns what the outcome of a request means for the metric of shoots.
func stateOf(err error) metrics.ShootState {
	switch {
	case errors.As(err, new(*UnreachableError)):
		return metrics.ShootUnreachable
	case errors.As(err, new(*RefusedError)):
		return metrics.ShootRefused
	}
	return metrics.ShootReachable
}

func (s *slot) close() {
	if s.shoot != nil {
		s.shoot.close()
		s.shoot = nil
	}
}

// due reports whether a shoot that failed at a time may be asked again.
func (o *Options) due(failed time.Time) bool { return !o.Clock.Now().Before(failed.Add(o.RetryAfter)) }
