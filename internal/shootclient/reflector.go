// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trellis-network/trellis/internal/condition"
)

// logInterval is the shortest time between two lines about the watches of one shoot.
const logInterval = time.Hour

// How long a reflector waits after its list or watch has failed, and after an answer that asks to
// try again. An API server gives that answer for about a second once a kind is new.
var (
	failureBackoff = wait.Backoff{Duration: 800 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 6, Cap: 30 * time.Second}
	retryBackoff   = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 9, Cap: 30 * time.Second}
)

// backoffReset is the time without a failure after which a reflector waits no longer than at first.
const backoffReset = 2 * time.Minute

// reflect keeps the cache of a kind as the shoot's objects are, until ctx ends. The reflector logs
// nothing: watchFailed does.
func (s *Shoot) reflect(ctx context.Context, declared Watch, into *objects) {
	source := declared.selecting(listWatch(s.watches, declared), s.options.ManagedBy, func(listed runtime.Object) error {
		_, err := into.admit(listed)
		return err
	})
	retry := retryBackoff
	reflector := toolscache.NewReflectorWithOptions(source, declared.empty(), into, toolscache.ReflectorOptions{
		Name: "shootclient", TypeDescription: declared.Kind.Kind, Backoff: &retry,
	})
	failure := failureBackoff
	delay := failure.DelayWithReset(clock.RealClock{}, backoffReset)
	// It ends with ctx, and has no other error.
	_ = delay.Until(logr.NewContext(ctx, logr.Discard()), true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil {
			s.watchFailed(ctx, declared.Kind, err)
		}
		return false, nil
	})
}

// listWatch lists and watches all objects of a kind in the form in which they are cached.
func listWatch(from client.WithWatch, declared Watch) toolscache.ListerWatcher {
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := declared.emptyList()
			return list, from.List(ctx, list, &client.ListOptions{Raw: &options, Limit: options.Limit, Continue: options.Continue})
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			events, err := from.Watch(ctx, declared.emptyList(), &client.ListOptions{Raw: &options})
			if err != nil {
				return nil, err
			}
			return &releasing{watch: events, events: events.ResultChan()}, nil
		},
	}
}

// releasing is a watch that lets go of another one when it is stopped. A reflector refers to its first watch for as
// long as it runs, and a watch to the buffers in which its largest event was decoded.
type releasing struct {
	events <-chan watch.Event

	mu    sync.Mutex
	watch watch.Interface // nil once it is stopped
}

// ResultChan implements watch.Interface.
func (r *releasing) ResultChan() <-chan watch.Event { return r.events }

// Stop implements watch.Interface.
func (r *releasing) Stop() {
	r.mu.Lock()
	stopped := r.watch
	r.watch = nil
	r.mu.Unlock()
	if stopped != nil {
		stopped.Stop()
	}
}

// watchFailed notes why a kind could not be listed or watched. What is no refusal is logged,
// though not for each kind and with each attempt: the statuses have what is so now.
func (s *Shoot) watchFailed(ctx context.Context, kind schema.GroupVersionKind, err error) {
	if ctx.Err() != nil || s.refused.note(kind, err) || apierrors.IsResourceExpired(err) || errors.Is(err, io.EOF) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.options.Clock.Now()
	if now.Sub(s.logged) < logInterval {
		return
	}
	s.logged = now
	reason := condition.Shorten(s.Failure(err).Error(), condition.MaxMessage)
	log.Log.WithName("shootclient").Info("Objects of a shoot cannot be watched", "namespace", s.Namespace, "kind", kind.Kind, "reason", reason)
}
