// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// scheme has the kinds that typed clients for shoots know.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	return s
}()

// Shoot is access to one shoot.
type Shoot struct {
	// Namespace is that of the shoot's control plane in the seed.
	Namespace string
	// Server is the address of the shoot's API server.
	Server string
	// Client sends each call to the shoot's API server.
	Client client.Client
	// Reader reads managed objects from the cache. Kinds whose health is in their
	// status (see Whole) are read typed, all others as metadata only; anything
	// else is an error. The first read of a kind begins to watch it and waits for
	// the cache to be filled, but not for long.
	Reader client.Reader

	options    *Options
	connection *connection
	cache      cache.Cache
	tell       func(Event)
	stop       context.CancelFunc
	stopped    chan struct{}

	mu      sync.Mutex
	watched map[schema.GroupVersionKind]toolscache.InformerSynced
}

func newShoot(namespace string, connection *connection, options *Options, tell func(Event)) (*Shoot, error) {
	mapper, err := apiutil.NewDynamicRESTMapper(connection.config, connection.requests)
	if err != nil {
		return nil, err
	}
	direct, err := client.New(connection.config, client.Options{HTTPClient: connection.requests, Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, err
	}
	cached, err := cache.New(connection.config, cache.Options{
		HTTPClient: connection.watches, Scheme: scheme, Mapper: mapper,
		DefaultLabelSelector: labels.SelectorFromSet(labels.Set{resourcesv1alpha1.ManagedBy: options.ManagedBy}),
		DefaultTransform:     strip,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Shoot{
		Namespace: namespace, Server: connection.config.Host, Client: direct,
		options: options, connection: connection, cache: cached, tell: tell,
		stop: cancel, stopped: make(chan struct{}),
		watched: map[schema.GroupVersionKind]toolscache.InformerSynced{},
	}
	s.Reader = &reader{s}
	go func() {
		defer close(s.stopped)
		// The error could only say that it was started twice.
		_ = cached.Start(ctx)
	}()
	// Nothing is watched yet, so this only waits until the cache has started.
	cached.WaitForCacheSync(ctx)
	return s, nil
}

// reach returns an error if the API server did not answer last and does not
// answer now, or is not to be asked again yet.
func (s *Shoot) reach(ctx context.Context) error {
	failed, last := s.connection.state.last()
	if last == nil {
		return nil
	}
	if !s.options.due(failed) {
		return &UnreachableError{Server: s.Server, Err: last}
	}
	err := s.connection.probe(ctx, s.options.ConnectTimeout)
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return &UnreachableError{Server: s.Server, Err: err}
}

// Failure returns err, or an *UnreachableError in its place if err is no answer
// of the shoot's API server and that did not answer last.
func (s *Shoot) Failure(err error) error {
	var answered apierrors.APIStatus
	var unreachable *UnreachableError
	if err == nil || errors.As(err, &answered) || errors.As(err, &unreachable) {
		return err
	}
	if _, last := s.connection.state.last(); last != nil {
		return &UnreachableError{Server: s.Server, Err: last}
	}
	return err
}

// close stops all watches and waits for their end.
func (s *Shoot) close() {
	s.stop()
	<-s.stopped
	s.connection.close()
}

// String names the shoot in log lines.
func (s *Shoot) String() string { return fmt.Sprintf("shoot of %s at %s", s.Namespace, s.Server) }
