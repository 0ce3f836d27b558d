// SPDX-License-Identifier: Apache-2.0

// Package keyed has a map that several goroutines can use at once: what a controller
// remembers of each object or cluster, which a restart may lose.
package keyed

import (
	"maps"
	"sync"
)

// Map holds a value for each key. The zero Map is empty and ready to use. A Map must
// not be copied.
type Map[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]V
}

// Get returns the value of a key, and whether there is one.
func (m *Map[K, V]) Get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.values[key]
	return value, ok
}

// Set stores the value of a key.
func (m *Map[K, V]) Set(key K, value V) {
	m.Update(key, func(V, bool) (V, bool) { return value, true })
}

// Delete removes a key.
func (m *Map[K, V]) Delete(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.values, key)
}

// Update replaces the value of a key by what change makes of it, and returns that.
// change is told whether there was a value, and returns whether to keep one. It runs
// under the lock of the Map, so it must not block or use the Map.
func (m *Map[K, V]) Update(key K, change func(value V, present bool) (V, bool)) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, present := m.values[key]
	after, keep := change(before, present)
	if !keep {
		delete(m.values, key)
		return after
	}
	if m.values == nil {
		m.values = map[K]V{}
	}
	m.values[key] = after
	return after
}

// DeleteFunc removes every key for which del returns true. del runs under the lock of
// the Map.
func (m *Map[K, V]) DeleteFunc(del func(K, V) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, value := range m.values {
		if del(key, value) {
			delete(m.values, key)
		}
	}
}

// Clone returns a copy of the Map's content, of which the values are not copied.
func (m *Map[K, V]) Clone() map[K]V {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.values)
}
