// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"testing"

	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Reconciliations returns how many reconciliations of objects without a network type a
// controller has counted with an outcome, in this process.
func Reconciliations(t *testing.T, controller, outcome string) uint64 {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var counted uint64
	for _, family := range families {
		if family.GetName() != "trellis_reconciliation_duration_seconds" {
			continue
		}
		for _, metric := range family.Metric {
			labels := map[string]string{}
			for _, pair := range metric.Label {
				labels[pair.GetName()] = pair.GetValue()
			}
			if labels["controller"] == controller && labels["type"] == "" && labels["outcome"] == outcome {
				counted += metric.GetHistogram().GetSampleCount()
			}
		}
	}
	return counted
}
