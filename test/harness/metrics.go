// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Metrics returns Trellis' metrics that have a label of this name and value, as Prometheus
// writes them: `trellis_shoots{state="reachable"}`. A histogram has its count and its sum.
// Tests of a package share the metrics, so the value should be one that no other test uses.
func Metrics(tb testing.TB, name, value string) map[string]float64 {
	tb.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "trellis_") {
			continue
		}
		for _, m := range family.Metric {
			var labels []string
			for _, label := range m.Label {
				labels = append(labels, fmt.Sprintf("%s=%q", label.GetName(), label.GetValue()))
			}
			if !slices.Contains(labels, fmt.Sprintf("%s=%q", name, value)) {
				continue
			}
			suffix := "{" + strings.Join(labels, ",") + "}"
			switch family.GetType() {
			case dto.MetricType_HISTOGRAM:
				found[family.GetName()+"_count"+suffix] = float64(m.GetHistogram().GetSampleCount())
				found[family.GetName()+"_sum"+suffix] = m.GetHistogram().GetSampleSum()
			case dto.MetricType_COUNTER:
				found[family.GetName()+suffix] = m.GetCounter().GetValue()
			default:
				found[family.GetName()+suffix] = m.GetGauge().GetValue()
			}
		}
	}
	return found
}

// Reconciliations returns how many reconciliations of objects without a network type a
// controller has counted with an outcome, in this process.
func Reconciliations(t *testing.T, controller, outcome string) uint64 {
	t.Helper()
	series := fmt.Sprintf(`trellis_reconciliation_duration_seconds_count{controller=%q,outcome=%q,type=""}`, controller, outcome)
	return uint64(Metrics(t, "controller", controller)[series])
}
