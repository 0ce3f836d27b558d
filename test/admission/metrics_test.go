// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"io"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/admission"
)

// An admission that was asked serves what docs/admission.md lists, which is all that the alerts and the
// dashboard of its chart read beside what Prometheus states itself.
func TestTheAdmissionServesItsMetrics(t *testing.T) {
	g := setup(t)
	address := g.freeAddress()
	g.admits(func(options *admission.Options) { options.MetricsBindAddress = address })
	response, err := http.Get("http://" + address + "/metrics")
	g.Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	served, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	for _, series := range []string{
		`controller_runtime_webhook_latency_seconds_count{webhook="/`, `controller_runtime_webhook_latency_seconds_sum{webhook="/`,
		"controller_runtime_webhook_panics_total 0", `controller_runtime_webhook_requests_in_flight{webhook="/`,
		`controller_runtime_webhook_requests_total{code="200",webhook="/`,
	} {
		g.Expect(string(served)).To(ContainSubstring("\n" + series))
	}
}
