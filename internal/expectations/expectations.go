// SPDX-License-Identifier: Apache-2.0

// Package expectations keeps a controller from acting on a cache that does not show yet
// what the controller itself has written. Kubernetes' own controllers have the same.
package expectations

import (
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/trellis-network/trellis/internal/keyed"
)

// Expectations has, for each key, the versions of objects that were written and that a
// cache must show before the key is worked on again. The zero value is ready to use. It
// must not be copied.
type Expectations[K comparable] struct {
	// MaxChecks bounds how often Late returns true for a key: an object that never shows
	// up may have been deleted. 0 means no bound.
	MaxChecks int

	keys keyed.Map[K, expected]
}

// expected are the objects of one key.
type expected struct {
	versions map[string]string
	checks   int
}

// Expect states that an object was written, and the resource version that it got.
func (e *Expectations[K]) Expect(key K, object, version string) {
	e.keys.Update(key, func(before expected, _ bool) (expected, bool) {
		versions := map[string]string{object: version}
		for other, its := range before.versions {
			if other != object {
				versions[other] = its
			}
		}
		return expected{versions: versions}, true
	})
}

// Late reports whether the cache is behind what was written for a key. version returns
// the resource version of an object in the cache, empty if the cache does not have it.
func (e *Expectations[K]) Late(key K, version func(object string) string) bool {
	late := false
	e.keys.Update(key, func(now expected, _ bool) (expected, bool) {
		for object, wanted := range now.versions {
			if cached := version(object); cached == "" || isOlder(cached, wanted) {
				late = true
			}
		}
		now.checks++
		if e.MaxChecks > 0 && now.checks > e.MaxChecks {
			late = false
		}
		return now, late
	})
	return late
}

// Forget removes what is expected for a key.
func (e *Expectations[K]) Forget(key K) { e.keys.Delete(key) }

func isOlder(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}
