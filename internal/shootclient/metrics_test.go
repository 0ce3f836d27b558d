// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/trellis-network/trellis/test/harness"
)

// series returns the values of a metric by the values of its labels, in the order of
// their names.
func series(g *WithT, name string) map[string]float64 {
	families, err := ctrlmetrics.Registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	values := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.Metric {
			labels := ""
			for _, pair := range m.Label {
				labels += " " + pair.GetValue()
			}
			values[labels[1:]] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return values
}

func TestWritesAreCounted(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/conflict" {
			w.WriteHeader(http.StatusConflict)
		}
	}))
	defer server.Close()
	silent := harness.RoundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("it does not answer") })
	before := series(g, "trellis_shoot_writes_total")
	send := func(next http.RoundTripper, method, path, contentType string) {
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Content-Type", contentType)
		if response, err := (writeCounter{next}).RoundTrip(request); err == nil {
			g.Expect(response.Body.Close()).To(Succeed())
		}
	}
	answered := http.DefaultTransport
	send(answered, http.MethodGet, "/", "")
	send(answered, http.MethodPatch, "/", "application/apply-patch+yaml")
	send(answered, http.MethodPatch, "/?dryRun=All", "application/apply-patch+yaml")
	send(answered, http.MethodPatch, "/conflict", "application/apply-patch+cbor")
	send(answered, http.MethodPatch, "/", "application/merge-patch+json")
	send(answered, http.MethodPost, "/", "application/json")
	send(answered, http.MethodPut, "/", "application/json")
	send(silent, http.MethodDelete, "/", "application/json")
	counted := series(g, "trellis_shoot_writes_total")
	for labels, value := range before {
		if counted[labels] -= value; counted[labels] == 0 {
			delete(counted, labels)
		}
	}
	g.Expect(counted).To(Equal(map[string]float64{
		"2xx apply": 1, "4xx apply": 1, "2xx patch": 1, "2xx create": 1, "2xx update": 1, "none delete": 1,
	}))
}

func TestShootsAreCountedByTheirLastAnswer(t *testing.T) {
	e := newEnv(t)
	counted := func() map[string]float64 { return series(e.WithT, "trellis_shoots") }
	e.grant(e.shoot.Kubeconfig)
	_, err := e.clients.For(e.ctx, e.namespace)
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(counted()).To(Equal(map[string]float64{"reachable": 1, "unreachable": 0, "refused": 0}))
	e.grant(e.as(t, "dead"))
	_, err = e.clients.For(e.ctx, e.namespace)
	e.Expect(err).To(BeAssignableToTypeOf(&RefusedError{}))
	e.Expect(counted()).To(Equal(map[string]float64{"reachable": 0, "unreachable": 0, "refused": 1}))
	e.grant(pretend("shoot.invalid:443"))
	_, err = e.clients.For(e.ctx, e.namespace)
	e.Expect(err).To(BeAssignableToTypeOf(&UnreachableError{}))
	e.Expect(counted()).To(Equal(map[string]float64{"reachable": 0, "unreachable": 1, "refused": 0}))
	e.clients.Forget(e.namespace)
	e.Expect(counted()).To(BeEmpty())
}
