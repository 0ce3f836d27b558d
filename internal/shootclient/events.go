// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/trellis-network/trellis/internal/keyed"
)

// Change is what happened to an object.
type Change string

const (
	// Created means that the object appeared, or was given the label of managed objects.
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
	// Kind and Object identify the object.
	Kind   schema.GroupVersionKind
	Object types.NamespacedName
	// Origin is the value of the object's origin annotation. If that value itself changed,
	// there is one event for each.
	Origin string
	Change Change
}

// subscribers are functions that are called for each event. They must not block.
type subscribers struct {
	all keyed.Map[*func(Event), func(Event)]
}

func (s *subscribers) add(f func(Event)) (remove func()) {
	s.all.Set(&f, f)
	return func() { s.all.Delete(&f) }
}

func (s *subscribers) tell(event Event) {
	for _, f := range s.all.Clone() {
		f(event)
	}
}

// Source returns the events as a source for a controller. requests returns what to
// reconcile after an event, and how long to gather further events before that: a second or
// two for those that are about to repeat, as of a DaemonSet's status during a roll-out.
// What was there when a watch started is no event.
func (s *subscribers) Source(requests func(Event) (wanted []reconcile.Request, after time.Duration)) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		context.AfterFunc(ctx, s.add(func(event Event) {
			wanted, after := requests(event)
			for _, request := range wanted {
				queue.AddAfter(request, after)
			}
		}))
		return nil
	})
}
