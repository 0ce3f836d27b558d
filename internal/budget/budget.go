// SPDX-License-Identifier: Apache-2.0

// Package budget limits how often a cluster can make the operator write to the seed: what the
// operator reports of a cluster may change as often as the cluster's answers do.
package budget

import (
	"time"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-network/trellis/internal/keyed"
)

const (
	// Reports of one object are written at once, and further ones each Period.
	Reports = 10
	// Period is how long a report waits at most.
	Period = 10 * time.Second
)

// Budget has for each object how many reports of it may be written at once. The zero value is
// ready. Its methods may be called concurrently.
type Budget struct {
	accounts keyed.Map[types.NamespacedName, *account]
}

// account is the budget of one generation of an object.
type account struct {
	uid        types.UID
	generation int64
	left       *rate.Limiter
}

// Spend returns 0 if a report of the object may be written now, and counts it. Otherwise it
// returns after which time to try again. A new generation of the object has a new budget: its
// user decides about that, and not its cluster.
func (b *Budget) Spend(object metav1.Object, now time.Time) (wait time.Duration) {
	name := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
	a := b.accounts.Update(name, func(a *account, known bool) (*account, bool) {
		if !known || a.uid != object.GetUID() || a.generation != object.GetGeneration() {
			a = &account{object.GetUID(), object.GetGeneration(), rate.NewLimiter(rate.Every(Period), Reports)}
		}
		return a, true
	})
	reservation := a.left.ReserveN(now, 1)
	if wait = reservation.DelayFrom(now).Round(time.Millisecond); wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}

// Forget forgets an object that does not exist.
func (b *Budget) Forget(object types.NamespacedName) { b.accounts.Delete(object) }
