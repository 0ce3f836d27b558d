// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"errors"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
)

// scheme has the kinds that typed clients for shoots know, and builtIn those of them that each
// API server has.
var scheme, builtIn = func() (all, always *runtime.Scheme) {
	all, always = runtime.NewScheme(), runtime.NewScheme()
	for _, s := range []*runtime.Scheme{all, always} {
		utilruntime.Must(clientgoscheme.AddToScheme(s))
		utilruntime.Must(apiextensionsv1.AddToScheme(s))
	}
	utilruntime.Must(connectivityv1alpha1.AddToScheme(all))
	return all, always
}()

// Shoot is access to one shoot.
type Shoot struct {
	// Namespace is that of the shoot's control plane in the seed.
	Namespace string
	// Cluster is that to which the kubeconfig leads.
	Cluster
	// Client sends each call to the shoot's API server.
	Client client.Client
	// Reader reads from the cache, in the form that a kind's Watch declares; any other is
	// an error. The first read of a kind starts to watch it and waits for the cache to be
	// filled, but not for long.
	Reader client.Reader

	options    *Options
	declared   *declarations
	connection *connection
	// secret is where a better kubeconfig belongs, as namespace/name, or empty where
	// there is none.
	secret string
	mapper *mapper
	// watches sends requests without a time limit.
	watches client.WithWatch
	deletes rest.Interface
	refused *refusals
	tell    func(Event)
	opened  time.Time
	// open ends with the access, running once all watches have ended.
	open    context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	watched map[schema.GroupVersionKind]*objects
	// logged is when the last line about a watch was written.
	logged time.Time
}

func newShoot(namespace string, connection *connection, options *Options, declared *declarations, tell func(Event)) (*Shoot, error) {
	kinds := newMapper(connection, options.Clock)
	direct, err := client.New(connection.config, client.Options{HTTPClient: connection.requests, Scheme: scheme, Mapper: kinds})
	if err != nil {
		return nil, err
	}
	watches, err := client.NewWithWatch(connection.config, client.Options{HTTPClient: connection.watches, Scheme: scheme, Mapper: kinds})
	if err != nil {
		return nil, err
	}
	deletes, err := newDeletes(connection)
	if err != nil {
		return nil, err
	}
	s := &Shoot{
		Namespace: namespace, Cluster: connection.cluster, Client: direct,
		options: options, declared: declared, connection: connection, mapper: kinds, watches: watches,
		deletes: deletes, tell: tell, refused: &refusals{clock: options.Clock}, opened: options.Clock.Now(),
		watched: map[schema.GroupVersionKind]*objects{},
	}
	s.open, s.stop = context.WithCancel(context.Background())
	s.Reader = &reader{s}
	return s, nil
}

// reach returns an error if the last request failed, because the API server did not
// answer or refused the credentials, and either the next attempt is not due yet or it
// fails too.
func (s *Shoot) reach(ctx context.Context) error {
	if s.isFull() {
		return &UnreachableError{Server: s.Server, Err: errTooLarge}
	}
	failed, last := s.connection.state.last()
	if last == nil {
		return nil
	}
	if !s.options.due(failed) {
		return s.unusable(last)
	}
	return s.ask(ctx, s.options.ConnectTimeout)
}

// Confirm returns an error if the API server has not answered within a time and
// does not answer now. For one that hangs the cache says nothing: it is as it was.
func (s *Shoot) Confirm(ctx context.Context, within time.Duration) error {
	if !s.connection.state.silent(within) {
		return nil
	}
	return s.ask(ctx, s.options.RequestTimeout)
}

func (s *Shoot) ask(ctx context.Context, timeout time.Duration) error {
	err := s.connection.probe(ctx, timeout)
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	// In the words in which it will be told until the next attempt.
	if _, last := s.connection.state.last(); last != nil && !errors.Is(last, errNotAsked) {
		err = last
	}
	return s.unusable(err)
}

// unusable says what the fate of the last request means.
func (s *Shoot) unusable(last error) error {
	if errors.Is(last, errUnauthorized) {
		return &RefusedError{Server: s.Server, Secret: s.secret, Err: last}
	}
	return &UnreachableError{Server: s.Server, Err: last}
}

// Failure returns err, or in its place an *UnreachableError if err is no answer of
// the shoot's API server and that did not answer last, or a *RefusedError if err
// is that the credentials are not valid or lack a right.
func (s *Shoot) Failure(err error) error {
	var answered apierrors.APIStatus
	switch {
	case err == nil || errors.As(err, new(*UnreachableError)) || errors.As(err, new(*RefusedError)):
		return err
	case errors.As(err, &answered):
		if s.secret != "" && (apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) && lacksRights.MatchString(err.Error())) {
			return &RefusedError{Server: s.Server, Secret: s.secret, Err: answered.(error)}
		}
		return err
	}
	if _, last := s.connection.state.last(); last != nil {
		return s.unusable(last)
	}
	return err
}

// close stops all watches and waits for their end.
func (s *Shoot) close() {
	s.mu.Lock() // no other watch begins
	s.stop()
	s.mu.Unlock()
	s.running.Wait()
	s.connection.close()
}
