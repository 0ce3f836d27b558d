// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/trellis-network/trellis/test/sandbox"
)

// queue lets as many tests run side by side as the machine bears, those that take longest first: so the
// last ones end at nearly the same time.
type queue struct {
	changed *sync.Cond
	running int
	waiting []time.Duration
	// starting are the tests of which not all runs yet. allStarted is true once there was none.
	starting   map[*testing.T]bool
	allStarted bool
	// inTurn is the test whose landscape starts, and turns is how many wait for that. timed is how much runs that
	// no start may disturb.
	inTurn       *testing.T
	turns, timed int
}

var sandboxes = queue{changed: sync.NewCond(&sync.Mutex{}), starting: map[*testing.T]bool{}}

// mostAtOnce is how many tests run side by side: as many as make e2e has asked the machine to bear, or two more,
// beside test/flannel. It asks the machine before the first of them starts.
var mostAtOnce = sync.OnceValue(func() int {
	fast := sandbox.Plans["e2e-fast"]
	why, err := sandbox.WithoutRealNodes(context.Background(), fast)
	if processors := runtime.NumCPU(); why == "" && err == nil && processors < 4 {
		// Verdicts came late there, of up to nine nodes.
		why = fmt.Sprintf("there are %d processors, and more need 4", processors)
	}
	if why == "" && err == nil {
		return fast.Sandboxes - 1 // that of test/flannel
	}
	planned := sandbox.Plans["e2e"].Sandboxes - 1
	fmt.Fprintf(os.Stderr, "only %d tests side by side, which takes longer: %s\n", planned, cmp.Or(why, fmt.Sprint(err)))
	return planned
})

// sideBySide waits until a test that takes about so long may start, and gives way to the next test when
// it ends. It must be the first call of the test: all tests are in the queue before one of them starts.
func sideBySide(t *testing.T, takes time.Duration) {
	t.Helper()
	needRealNodes(t)
	most := mostAtOnce()
	sandboxes.waiting = append(sandboxes.waiting, takes)
	t.Parallel()

	sandboxes.changed.L.Lock()
	defer sandboxes.changed.L.Unlock()
	for sandboxes.running == most || takes < slices.Max(sandboxes.waiting) {
		sandboxes.changed.Wait()
	}
	sandboxes.running++
	sandboxes.starting[t] = true
	first := slices.Index(sandboxes.waiting, takes)
	sandboxes.waiting = slices.Delete(sandboxes.waiting, first, first+1)
	sandboxes.changed.Broadcast()
	t.Cleanup(func() {
		sandboxes.changed.L.Lock()
		defer sandboxes.changed.L.Unlock()
		sandboxes.running--
		sandboxes.changed.Broadcast()
	})
	t.Cleanup(func() { hasStarted(t) })
}

// awaitTurn waits until no other landscape starts, and nothing runs that a start would disturb. The next one may start
// once hasStarted is called for this one.
func awaitTurn(t *testing.T) {
	sandboxes.changed.L.Lock()
	defer sandboxes.changed.L.Unlock()
	sandboxes.turns++
	for sandboxes.inTurn != nil || sandboxes.timed > 0 {
		sandboxes.changed.Wait()
	}
	sandboxes.turns--
	sandboxes.inTurn = t
	t.Cleanup(func() { hasStarted(t) })
}

// undisturbed does what must happen within a time while no landscape starts, since that takes all of the processors
// for a minute or two.
func undisturbed(do func()) {
	add := func(n int) {
		sandboxes.changed.L.Lock()
		defer sandboxes.changed.L.Unlock()
		for n > 0 && (sandboxes.inTurn != nil || sandboxes.turns > 0) {
			sandboxes.changed.Wait()
		}
		sandboxes.timed += n
		sandboxes.changed.Broadcast()
	}
	add(1)
	defer add(-1)
	do()
}

// hasStarted notes that all that a test needs runs, or that the test has ended.
func hasStarted(t *testing.T) {
	sandboxes.changed.L.Lock()
	defer sandboxes.changed.L.Unlock()
	if sandboxes.starting[t] {
		delete(sandboxes.starting, t)
		sandboxes.allStarted = sandboxes.allStarted || len(sandboxes.starting) == 0
	}
	if sandboxes.inTurn == t {
		sandboxes.inTurn = nil
	}
	sandboxes.changed.Broadcast()
}

// awaitFirst waits until the first tests have started. Their sandboxes start one after the other and take
// all of the processors, so that more may fail meanwhile than what a test breaks.
func awaitFirst() {
	sandboxes.changed.L.Lock()
	defer sandboxes.changed.L.Unlock()
	for !sandboxes.allStarted {
		sandboxes.changed.Wait()
	}
}
