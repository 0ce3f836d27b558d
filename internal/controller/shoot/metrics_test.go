// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/metrics"
	"github.com/trellis-network/trellis/test/harness"
)

func TestReconciliationsAreMeasured(t *testing.T) {
	metrics.ServeTypes("measured") // no other test changes the metrics of this type
	e := setup(t)
	e.finished(func(s *corev1beta1.Shoot) { s.Spec.Networking.Type = ptr.To("measured") })
	const took = "trellis_reconciliation_duration_seconds"
	e.Eventually(func() map[string]float64 { return harness.Metrics(t, "type", "measured") }).Should(And(
		HaveKeyWithValue(took+`_count{controller="shoot",outcome="waiting",type="measured"}`, BeNumerically(">", 0)),
		HaveKeyWithValue(took+`_count{controller="shoot",outcome="done",type="measured"}`, BeNumerically(">", 0)),
		HaveKeyWithValue(took+`_sum{controller="shoot",outcome="done",type="measured"}`, And(BeNumerically(">", 0), BeNumerically("<", 300))),
	))
}
