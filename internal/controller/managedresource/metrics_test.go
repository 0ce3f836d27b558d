// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/harness"
)

func TestReconciliationsAreMeasured(t *testing.T) {
	e := newEnv(t)
	e.state("network", e.configMap("one"))
	e.edit("network", func(mr *resourcesv1alpha1.ManagedResource) { mr.Spec.Class = ptr.To("measured") })
	// No other test changes the metrics of this class.
	e.operator(func(options *Options) { options.Class = "measured" })
	e.becomesGood("network")
	measured := func() map[string]float64 { return harness.Metrics(t, "controller", "managedresource-measured") }
	const took = "trellis_reconciliation_duration_seconds"
	e.Eventually(measured).Should(And(
		HaveKeyWithValue(took+`_count{controller="managedresource-measured",outcome="done",type=""}`, BeNumerically(">", 0)),
		HaveKeyWithValue(took+`_sum{controller="managedresource-measured",outcome="done",type=""}`, And(BeNumerically(">", 0), BeNumerically("<", 300))),
	))

	e.stateData("network", map[string][]byte{"objects.json": []byte("no object")})
	e.Eventually(measured).Should(HaveKeyWithValue(took+`_count{controller="managedresource-measured",outcome="terminal",type=""}`, BeNumerically(">", 0)))
}
