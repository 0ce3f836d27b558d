// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// Objects that are short when they are encoded, and long in memory, do not fill it.
func TestEmptyElementsCountAsMuchAsTheyTake(t *testing.T) {
	var annotations strings.Builder
	for i := range 900 {
		_, _ = fmt.Fprintf(&annotations, `"%x":"",`, i)
	}
	for name, fields := range map[string]string{
		"finalizers":  `"finalizers":[` + strings.Repeat(`"",`, 900) + `""]`,
		"owners":      `"ownerReferences":[` + strings.Repeat(`{},`, 400) + `{}]`,
		"annotations": `"annotations":{` + annotations.String() + `"last":""}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			sent := 0
			var connected *Shoot
			server := newPretender(t, &pretender{items: func(w io.Writer) bool {
				for range 10 {
					sent++
					_, _ = fmt.Fprintf(w, `{"metadata":{"name":"x%d",%s}},`, sent, fields)
				}
				return connected.connection.cached.Load() < 8<<20 // which is counted twice
			}})
			seed := &secrets{}
			clients := New(patient(seed, seed))
			defer clients.Close()
			seed.put("shoot--dev--one", server.kubeconfig())
			shoot, err := clients.For(t.Context(), "shoot--dev--one")
			g.Expect(err).NotTo(HaveOccurred())
			connected = shoot
			before := heap()
			g.Expect(shoot.Watch(t.Context(), configMaps)).To(Succeed())
			g.Expect(heap()-before).To(BeNumerically("<", maxCached/1000), "kB in memory")
			runtime.KeepAlive(shoot)
		})
	}
}
