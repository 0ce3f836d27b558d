// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"net/http"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// Seed gives access to the seed as Clients gives it to shoots: one client and one cache
// for all namespaces, with the rights of the operator itself. The access ends with the
// operator. The namespace of its events is that of the object.
type Seed struct {
	declarations
	subscribers
	shoot *Shoot
}

// NewSeed makes access to the cluster that config and requests lead to. Of the
// options only ManagedBy and SyncTimeout matter.
func NewSeed(config *rest.Config, requests *http.Client, options Options) (*Seed, error) {
	options.setDefaults()
	options.trusted = true
	s := &Seed{}
	// Everything that the operator does shows whether the seed answers, so this connection
	// never reports a failure.
	connection := &connection{config: config, cluster: Cluster{Server: config.Host}, requests: requests, watches: requests, state: &answers{}, cached: &atomic.Int64{}}
	connection.proven.Store(true)
	shoot, err := newShoot("", connection, &options, &s.declarations, func(event Event) {
		event.Namespace = event.Object.Namespace
		s.subscribers.tell(event)
	})
	s.shoot = shoot
	return s, err
}

// For returns access to the seed, which is the same for each namespace.
func (s *Seed) For(context.Context, string) (*Shoot, error) { return s.shoot, nil }

// Forget does nothing: the seed is needed as long as the operator runs.
func (s *Seed) Forget(string) {}

// Start waits for the end of ctx and then ends all watches, as a Runnable of a
// manager.
func (s *Seed) Start(ctx context.Context) error {
	<-ctx.Done()
	s.shoot.close()
	return nil
}
