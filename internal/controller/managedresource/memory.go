// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-network/trellis/internal/shootclient"
)

// memory is what the passes since the start of the process have seen, for each
// ManagedResource. Losing it costs a dry-run for each object, and a read of each
// that is not in the cache, nothing else.
type memory struct {
	mu      sync.Mutex
	records map[types.NamespacedName]*record
}

// record is what is remembered of one ManagedResource. Its reconciliations do
// not run at the same time, so it needs no lock.
type record struct {
	uid types.UID
	// inputs says which generation and which Secrets the last complete pass was
	// about; empty if there was none.
	inputs string
	// items of the last complete pass, without their objects.
	items []*item
	// leftOut are the kinds of which objects were left out then.
	leftOut []schema.GroupVersionKind
	// seen are the objects as they were when they were last found, or made, to be
	// what is wanted.
	seen map[identity]sighting
}

// sighting is the state of an object that was found to be right.
type sighting struct {
	// hash of what was applied.
	hash string
	// fingerprint of the object in the cluster.
	fingerprint string
	uid         types.UID
	generation  int64
}

func (m *memory) of(name types.NamespacedName, uid types.UID) *record {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.records[name]; ok && known.uid == uid {
		return known
	}
	if m.records == nil {
		m.records = map[types.NamespacedName]*record{}
	}
	fresh := &record{uid: uid, seen: map[identity]sighting{}}
	m.records[name] = fresh
	return fresh
}

func (m *memory) forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.records, name)
}

// complete remembers a complete pass.
func (r *record) complete(inputs string, d *desired) {
	r.inputs, r.items = inputs, make([]*item, 0, len(d.items))
	wanted := make(map[identity]bool, len(d.items))
	for _, each := range d.items {
		remembered := *each
		remembered.object = nil
		r.items = append(r.items, &remembered)
		wanted[each.id] = true
	}
	r.leftOut = kindsOf(d.leftOut)
	for id := range r.seen {
		if !wanted[id] {
			delete(r.seen, id)
		}
	}
}

// saw remembers that live is what the item wants.
func (r *record) saw(i *item, live metav1.Object) {
	r.seen[i.id] = sighting{
		hash: i.hash, fingerprint: shootclient.Fingerprint(i.id.GroupKind, live),
		uid: live.GetUID(), generation: live.GetGeneration(),
	}
}

// isRight says whether live is as it was when it was last found to be what the
// item wants.
func (r *record) isRight(i *item, live metav1.Object) bool {
	last, ok := r.seen[i.id]
	return ok && last.hash == i.hash && last.fingerprint == shootclient.Fingerprint(i.id.GroupKind, live)
}
