// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
)

func TestSomeCallsRunAtOnce(t *testing.T) {
	g := NewWithT(t)
	var running, most atomic.Int32
	var met sync.WaitGroup
	met.Add(maxAtOnce)
	atOnce(make([]int, 2*maxAtOnce), func(i int, _ int) bool {
		now := running.Add(1)
		for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
		}
		if i < maxAtOnce {
			met.Done()
			met.Wait() // returns once all of these run
		}
		running.Add(-1)
		return true
	})
	g.Expect(most.Load()).To(BeEquivalentTo(maxAtOnce))
}

// The first item that fails is always tried, so that the same error is reported each time.
func TestNoCallBeginsAfterAFailure(t *testing.T) {
	g := NewWithT(t)
	var last atomic.Int32
	atOnce(make([]int, 100), func(i int, _ int) bool {
		last.Store(max(last.Load(), int32(i)))
		return i < 20
	})
	g.Expect(last.Load()).To(And(BeNumerically(">=", 20), BeNumerically("<=", 20+maxAtOnce)))
}

// A goroutine that panics would end the process.
func TestAPanicOfACallIsTheCallers(t *testing.T) {
	NewWithT(t).Expect(func() { atOnce(make([]int, 3), func(int, int) bool { panic("broken") }) }).To(PanicWith("broken"))
}
