// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"runtime"
	"testing"
	"weak"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/watch"
)

// A reflector keeps its first watch for ever. Of hundreds of shoots with a dozen kinds each, the buffers of
// those would be a fifth of the memory.
func TestAStoppedWatchIsForgotten(t *testing.T) {
	g := NewWithT(t)
	inner := watch.NewFake()
	kept := weak.Make(inner)
	releases := &releasing{watch: inner, events: inner.ResultChan()}
	events := releases.ResultChan()
	runtime.GC()
	g.Expect(kept.Value()).NotTo(BeNil())
	inner = nil
	releases.Stop()
	releases.Stop()
	g.Expect(events).To(BeClosed())
	runtime.GC()
	g.Expect(kept.Value()).To(BeNil())
	runtime.KeepAlive(releases)
}
