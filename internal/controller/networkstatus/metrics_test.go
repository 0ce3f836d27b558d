// SPDX-License-Identifier: Apache-2.0

package networkstatus_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/metrics"
	"github.com/trellis-network/trellis/test/harness"
)

func TestReconciliationsAreMeasured(t *testing.T) {
	e := setup(t, never)
	e.networkType = "measured" // no other test changes the metrics of this type
	metrics.ServeTypes(e.networkType)
	e.daemonSet("agent", plain)
	n := e.network(e.component("agent", "DaemonSet", "agent"))
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
	const took = "trellis_reconciliation_duration_seconds"
	e.Eventually(func() map[string]float64 { return harness.Metrics(t, "type", "measured") }).Should(And(
		HaveKeyWithValue(took+`_count{controller="health",outcome="done",type="measured"}`, BeNumerically(">", 0)),
		HaveKeyWithValue(took+`_sum{controller="health",outcome="done",type="measured"}`, 0.0), // the test's clock stands still
		HaveKeyWithValue(`trellis_rollouts_stalled{type="measured"}`, 0.0),
	))

	e.Expect(e.seed.Delete(t.Context(), n)).To(Succeed())
	e.Eventually(func() map[string]float64 { return harness.Metrics(t, "type", "measured") }).
		ShouldNot(HaveKey(`trellis_rollouts_stalled{type="measured"}`))
}
