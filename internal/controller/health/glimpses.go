// SPDX-License-Identifier: Apache-2.0

package health

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// glimpse is what was found out about the roll-out of a DaemonSet.
type glimpse struct {
	daemonSet  types.UID
	generation int64
	// at is when that was.
	at time.Time
	// since is since when there had been no progress.
	since time.Time
	// held is what held it up; found is that, and what ailed the worst pod.
	held  string
	found ailment
	// large says that there were more pods than are to be read at each look.
	large bool
}

// rollouts remembers the last glimpse of each component's roll-out. It saves reading,
// and keeps what leaving nodes take with them; after a restart the objects tell.
type rollouts struct {
	lock      sync.Mutex
	byNetwork map[types.NamespacedName]map[string]glimpse
}

func (r *rollouts) last(network types.NamespacedName, component string) glimpse {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.byNetwork[network][component]
}

func (r *rollouts) note(network types.NamespacedName, component string, last glimpse) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.byNetwork == nil {
		r.byNetwork = map[types.NamespacedName]map[string]glimpse{}
	}
	if r.byNetwork[network] == nil {
		r.byNetwork[network] = map[string]glimpse{}
	}
	r.byNetwork[network][component] = last
}

// forget forgets a network that is gone.
func (r *rollouts) forget(network types.NamespacedName) {
	r.lock.Lock()
	defer r.lock.Unlock()
	delete(r.byNetwork, network)
}
