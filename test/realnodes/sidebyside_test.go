// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/trellis-network/trellis/test/sandbox"
)

// queue lets as many tests run side by side as make e2e has asked the machine to bear, those that take
// longest first: so the last ones end at nearly the same time.
type queue struct {
	changed *sync.Cond
	running int
	waiting []time.Duration
}

var sandboxes = queue{changed: sync.NewCond(&sync.Mutex{})}

// sideBySide waits until a test that takes about so long may start, and gives way to the next test when
// it ends. It must be the first call of the test: all tests are in the queue before one of them starts.
func sideBySide(t *testing.T, takes time.Duration) {
	t.Helper()
	needRealNodes(t)
	sandboxes.waiting = append(sandboxes.waiting, takes)
	t.Parallel()

	sandboxes.changed.L.Lock()
	defer sandboxes.changed.L.Unlock()
	for sandboxes.running == sandbox.Plans["e2e"].Sandboxes || takes < slices.Max(sandboxes.waiting) {
		sandboxes.changed.Wait()
	}
	sandboxes.running++
	first := slices.Index(sandboxes.waiting, takes)
	sandboxes.waiting = slices.Delete(sandboxes.waiting, first, first+1)
	sandboxes.changed.Broadcast()
	t.Cleanup(func() {
		sandboxes.changed.L.Lock()
		defer sandboxes.changed.L.Unlock()
		sandboxes.running--
		sandboxes.changed.Broadcast()
	})
}
