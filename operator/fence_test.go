// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// A leader that did not run for longer than its Lease is held writes nothing, in the seed
// or elsewhere, before it has the Lease again.
func TestALeaderThatSleptWritesNothing(t *testing.T) {
	g := NewWithT(t)
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(server.Close)
	now := time.Now()
	f := newFence(&manager.Options{LeaderElectionNamespace: "garden", LeaderElectionID: "trellis-operator", LeaseDuration: new(15 * time.Second)})
	f.now = func() time.Time { return now }
	api := &http.Client{Transport: f.wrap(http.DefaultTransport)}
	send := func(method, path string) error {
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader("{}"))
		g.Expect(err).NotTo(HaveOccurred())
		response, err := api.Do(request)
		if err == nil {
			err = response.Body.Close()
		}
		return err
	}
	const secrets = "/api/v1/namespaces/one/secrets"
	refused := MatchError(ContainSubstring("not sent: this process renewed the leader's Lease 15s ago, which is held for 15s"))
	renew := func() error {
		return send(http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/garden/leases/trellis-operator")
	}

	g.Expect(send(http.MethodPost, secrets)).To(Succeed(), "whoever was never elected does what all replicas do")
	g.Expect(renew()).To(Succeed())
	now = now.Add(14 * time.Second)
	g.Expect(send(http.MethodPatch, secrets+"/a")).To(Succeed())
	now = now.Add(time.Second)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		g.Expect(send(method, secrets)).To(refused, method)
	}
	g.Expect(send(http.MethodGet, secrets)).To(Succeed())

	status = http.StatusConflict
	g.Expect(renew()).To(Succeed(), "it is sent; the answer is that somebody else has it")
	g.Expect(send(http.MethodPost, secrets)).To(refused)
	status = http.StatusOK
	g.Expect(renew()).To(Succeed())
	g.Expect(send(http.MethodPost, secrets)).To(Succeed())
}
