// SPDX-License-Identifier: Apache-2.0

package keyed_test

import (
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/internal/keyed"
)

func TestManyGoroutinesUpdateOneValue(t *testing.T) {
	var counts keyed.Map[string, int]
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() { counts.Update("one", func(n int, _ bool) (int, bool) { return n + 1, true }) })
	}
	all.Wait()
	n, ok := counts.Get("one")
	NewWithT(t).Expect([]any{n, ok}).To(Equal([]any{100, true}))
}

func TestValuesComeAndGo(t *testing.T) {
	g := NewWithT(t)
	var m keyed.Map[string, int]
	_, ok := m.Get("one")
	g.Expect(ok).To(BeFalse())
	m.Set("one", 1)
	m.Set("two", 2)
	m.Set("three", 3)
	m.Delete("one")
	m.DeleteFunc(func(key string, n int) bool { return n == 2 })
	m.Update("three", func(n int, present bool) (int, bool) { return n, !present })
	g.Expect(m.Clone()).To(BeEmpty())
}
