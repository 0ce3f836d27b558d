// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Change is what happened to an object.
type Change string

const (
	// Created means that the object appeared, or got the label by which it is
	// known to be managed.
	Created Change = "Created"
	// Edited means that something other than the status changed.
	Edited Change = "Edited"
	// StatusChanged means that nothing but the status changed.
	StatusChanged Change = "StatusChanged"
	// Deleted means that the object is gone, or lost its label.
	Deleted Change = "Deleted"
)

// Event tells that a managed object in a shoot changed.
type Event struct {
	// Namespace is the shoot's control-plane namespace in the seed.
	Namespace string
	// Kind and Object say which object it is.
	Kind   schema.GroupVersionKind
	Object types.NamespacedName
	// Origin is the value of its origin annotation. When that changed itself
	// there is one event for each value.
	Origin string
	// Change is what happened.
	Change Change
}

// subscribers are those who want to know.
type subscribers struct {
	mu   sync.RWMutex
	next int
	all  map[int]func(Event)
}

func (s *subscribers) add(f func(Event)) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[int]func(Event){}
	}
	id := s.next
	s.next++
	s.all[id] = f
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.all, id)
	}
}

func (s *subscribers) tell(event Event) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, f := range s.all {
		f(event)
	}
}

// Subscribe has f called for each event of all shoots, until the returned
// function is called. f must not block. What was there when a watch began is no
// event.
func (c *Clients) Subscribe(f func(Event)) (unsubscribe func()) { return c.subscribers.add(f) }

// Source makes the events a source for a controller. requests says what to
// reconcile for an event, and how long to gather further events before that;
// events which are about to repeat (a DaemonSet's status during a roll-out)
// deserve a second or two.
func (c *Clients) Source(requests func(Event) (wanted []reconcile.Request, after time.Duration)) source.Source {
	return c.subscribers.source(requests)
}

func (s *subscribers) source(requests func(Event) (wanted []reconcile.Request, after time.Duration)) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		unsubscribe := s.add(func(event Event) {
			wanted, after := requests(event)
			for _, request := range wanted {
				queue.AddAfter(request, after)
			}
		})
		context.AfterFunc(ctx, unsubscribe)
		return nil
	})
}
