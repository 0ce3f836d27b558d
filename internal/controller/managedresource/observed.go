// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-network/trellis/internal/keyed"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// observations are what the runs of this process observed of one ManagedResource. Its
// runs follow one another, but a run applies several objects at once, so what it observes of
// them has locks. To lose the observations costs a dry-run for each object, and a read of each
// that is not in the cache.
type observations struct {
	// uid of the ManagedResource.
	uid types.UID
	// inputs of the last complete run; empty if there was none.
	inputs string
	// told are the inputs of the last run whose conditions are written, and recreations limits
	// how often it is told at once that an object was deleted to be created again.
	told        string
	recreations *rate.Limiter
	// items of the last complete run, without their objects.
	items []*item
	// absent are the kinds that the shoot lacked then.
	absent []schema.GroupVersionKind
	// verify reports that the next complete run must read all objects from the API server,
	// whatever the cache has: a user has asked for it.
	verify bool
	// objects as they were when they were last found, or made, to be as desired.
	objects keyed.Map[identity, observation]
	// corrected are the objects that were corrected lately.
	corrected keyed.Map[identity, corrections]
	// restored are the CRDs that were lost, and came back since the last complete run.
	restored []identity
}

func newObservations(uid types.UID) *observations {
	return &observations{uid: uid, recreations: rate.NewLimiter(rate.Every(quietPeriod), maxRecreations)}
}

// observation is the state of an object that is as desired.
type observation struct {
	// hash of what was applied.
	hash string
	// fingerprint of the object in the shoot.
	fingerprint string
	uid         types.UID
	generation  int64
	// version of the object, which each write changes, also one of the status.
	version string
}

// doubt makes the next stages read everything, and correct and tell it at once.
func (o *observations) doubt() {
	o.inputs, o.told, o.verify = "", "", true
	o.corrected.DeleteFunc(func(identity, corrections) bool { return true })
}

// forget forgets an object that is gone.
func (o *observations) forget(id identity) {
	o.objects.Delete(id)
	o.corrected.Delete(id)
}

// uidOf returns the UID of an object as it was observed last, empty if it was not.
func (o *observations) uidOf(id identity) types.UID {
	last, _ := o.objects.Get(id)
	return last.uid
}

// complete remembers a complete run.
func (o *observations) complete(inputs string, d *desired) {
	o.inputs, o.items, o.absent, o.verify = inputs, make([]*item, 0, len(d.items)), kindsOf(d.leftOut), false
	desired := make(map[identity]bool, len(d.items))
	for _, each := range d.items {
		remembered := *each
		remembered.object = nil
		o.items = append(o.items, &remembered)
		desired[each.id] = true
	}
	o.objects.DeleteFunc(func(id identity, _ observation) bool { return !desired[id] })
}

// isIntact reports whether the cache has all items as they were last observed.
func (o *observations) isIntact(ctx context.Context, shoot *shootclient.Shoot) bool {
	for _, each := range o.items {
		cached, err := shoot.Cached(ctx, kindOf(&each.ref), each.id.NamespacedName)
		if err != nil || !o.isUnchanged(each, cached) {
			return false
		}
	}
	return true
}

// observe remembers that live is as an item desires.
func (o *observations) observe(i *item, live metav1.Object) {
	o.objects.Set(i.id, observation{
		hash: i.hash, fingerprint: shootclient.Fingerprint(i.id.GroupKind, live),
		uid: live.GetUID(), generation: live.GetGeneration(), version: live.GetResourceVersion(),
	})
}

// isUnchanged reports whether live is as it was when it was last as the item desires.
func (o *observations) isUnchanged(i *item, live metav1.Object) bool {
	last, ok := o.objects.Get(i.id)
	return ok && last.hash == i.hash && last.fingerprint == shootclient.Fingerprint(i.id.GroupKind, live)
}
