// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Seed gives access to the seed in the form in which Clients gives it to shoots:
// one client and one cache for all namespaces, with the rights of the operator
// itself. It never ends before the operator does. The namespace of its events is
// that of the object.
type Seed struct {
	subscribers subscribers
	shoot       *Shoot
}

// NewSeed makes access to the cluster that config and requests lead to. Of the
// options only ManagedBy and SyncTimeout matter.
func NewSeed(config *rest.Config, requests *http.Client, options Options) (*Seed, error) {
	options.setDefaults()
	s := &Seed{}
	// Whether the seed answers is told by all that the operator does; as an answers
	// that was never asked this one has nothing to say against it.
	connection := &connection{config: config, requests: requests, watches: requests, state: &answers{}}
	shoot, err := newShoot("", connection, &options, func(event Event) {
		event.Namespace = event.Object.Namespace
		s.subscribers.tell(event)
	})
	s.shoot = shoot
	return s, err
}

// For returns access to the seed, whatever the namespace.
func (s *Seed) For(context.Context, string) (*Shoot, error) { return s.shoot, nil }

// Forget does nothing: the seed is needed as long as the operator runs.
func (s *Seed) Forget(string) {}

// Source is that of Clients, for objects in the seed.
func (s *Seed) Source(requests func(Event) (wanted []reconcile.Request, after time.Duration)) source.Source {
	return s.subscribers.source(requests)
}

// Start waits for the end of ctx and then ends all watches, as a Runnable of a
// manager.
func (s *Seed) Start(ctx context.Context) error {
	<-ctx.Done()
	s.shoot.close()
	return nil
}
