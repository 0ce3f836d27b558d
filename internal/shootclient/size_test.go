// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	testclock "k8s.io/utils/clock/testing"
)

// A shoot with more objects than may be cached is told so, and watched no longer; it is asked
// again after a while.
func TestAShootWithTooManyObjectsIsNotWatched(t *testing.T) {
	const object = `{"metadata":{"name":"x%d","annotations":{"a":"%s"}}}`
	for name, c := range map[string]struct{ item, event string }{
		"listed":          {item: object + ","},
		"told by a watch": {event: `{"type":"ADDED","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",` + object[1:] + "}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var ends atomic.Bool
			flood := func(format string, size int) func(io.Writer) bool {
				if format == "" {
					return nil
				}
				return func(w io.Writer) bool {
					for i := 0; !ends.Load() && i < size/4096; i++ {
						if _, err := fmt.Fprintf(w, format, i, strings.Repeat("x", 4096)); err != nil {
							return false
						}
					}
					return !ends.Load()
				}
			}
			server := newPretender(t, &pretender{items: flood(c.item, 3<<20), events: flood(c.event, 2*maxCached)})
			g, clock, seed := NewWithT(t), testclock.NewFakePassiveClock(time.Now()), &secrets{}
			clients := New(Options{Metadata: seed, Secrets: seed, Clock: clock, SyncTimeout: time.Second, ConnectTimeout: time.Minute, RequestTimeout: time.Minute})
			defer clients.Close()
			seed.put("shoot--dev--one", server.kubeconfig())
			ask := func() error {
				_, err := clients.For(t.Context(), "shoot--dev--one")
				return err
			}
			shoot, err := clients.For(t.Context(), "shoot--dev--one")
			g.Expect(err).NotTo(HaveOccurred())
			_ = shoot.Watch(t.Context(), configMaps)
			g.Eventually(ask).WithTimeout(time.Minute).Should(MatchError(HavePrefix("the shoot with the API server " + shoot.Server + " has more than 20 MiB of watched objects and kinds; ")))
			g.Expect(ask()).To(BeAssignableToTypeOf(&UnreachableError{}), "so it is reported as other failures are")
			g.Eventually(shoot.open.Done()).WithTimeout(time.Minute).Should(BeClosed(), "nothing is watched any more")
			g.Expect(shoot.connection.cached.Load()).To(BeNumerically("<", maxCached+1<<20))

			ends.Store(true)
			clock.SetTime(clock.Now().Add(9 * time.Minute))
			g.Expect(ask()).NotTo(Succeed())
			clock.SetTime(clock.Now().Add(time.Minute))
			g.Expect(ask()).To(Succeed())
		})
	}
}
