// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"sync"
	"sync/atomic"
)

// maxAtOnce bounds the requests of one run at the same time. The answers of a cluster may take 8 MiB
// together, and that to one of them is an object.
const maxAtOnce = 5

// atOnce calls f for each of the items, several at a time and begun in their order, and returns
// when all calls have ended. Once one has returned false, no further one begins. A panic in f
// becomes one of the caller, which reports it.
func atOnce[T any](items []T, f func(i int, item T) bool) {
	var (
		calls sync.WaitGroup
		ended atomic.Bool
		cause atomic.Pointer[any]
		slots = make(chan struct{}, maxAtOnce)
	)
	for i, each := range items {
		slots <- struct{}{}
		if ended.Load() {
			break
		}
		calls.Go(func() {
			defer func() {
				if panicked := recover(); panicked != nil {
					cause.CompareAndSwap(nil, &panicked)
					ended.Store(true)
				}
				<-slots
			}()
			if !f(i, each) {
				ended.Store(true)
			}
		})
	}
	calls.Wait()
	if panicked := cause.Load(); panicked != nil {
		panic(*panicked)
	}
}
