// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/internal/metrics"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/harness"
)

// measuredPlugin is the example with a type of its own: no other test changes its metrics.
type measuredPlugin struct{ examplePlugin }

func (p measuredPlugin) Describe() plugin.Description {
	description := p.examplePlugin.Describe()
	description.Type = "measured"
	return description
}

func TestNetworksAreMeasured(t *testing.T) {
	metrics.ServeTypes("measured")
	built, err := pipeline.New([]plugin.Plugin{plugin.New(measuredPlugin{})}, nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	e := setup(t, func(options *network.Options) { options.Pipeline = built })
	measured := func() map[string]float64 { return harness.Metrics(t, "type", "measured") }

	n := e.finished(func(n *extensionsv1alpha1.Network) { n.Spec.Type = "measured" })
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: e.managedResource().Spec.SecretRefs[0].Name}}
	e.get(secret)
	size := 0.0
	for _, data := range secret.Data {
		size += float64(len(data))
	}
	const (
		ofBundle = `{bundle="example-config",type="measured"}`
		applied  = `trellis_network_apply_duration_seconds`
		took     = `trellis_reconciliation_duration_seconds`
	)
	e.Eventually(measured).Should(And(
		HaveKeyWithValue("trellis_bundles"+ofBundle, 1.0),
		HaveKeyWithValue("trellis_bundle_objects"+ofBundle, 1.0),
		HaveKeyWithValue("trellis_bundle_size_bytes"+ofBundle, size),
		HaveKeyWithValue("trellis_bundle_max_size_bytes"+ofBundle, size),
		HaveKeyWithValue(applied+`_count{type="measured"}`, 1.0),
		HaveKeyWithValue(applied+`_sum{type="measured"}`, And(BeNumerically(">", 0), BeNumerically("<", 300))),
		HaveKeyWithValue(took+`_count{controller="network",outcome="waiting",type="measured"}`, BeNumerically(">", 0)),
		HaveKeyWithValue(took+`_count{controller="network",outcome="done",type="measured"}`, BeNumerically(">", 0)),
		HaveKeyWithValue(took+`_sum{controller="network",outcome="done",type="measured"}`, And(BeNumerically(">", 0), BeNumerically("<", 300))),
	))

	e.patch(n, withConfig(`{"backend":"unknown"}`))
	e.becomes(n, corev1beta1.LastOperationTypeReconcile, corev1beta1.LastOperationStateError)
	e.Eventually(measured).Should(HaveKeyWithValue(took+`_count{controller="network",outcome="terminal",type="measured"}`, BeNumerically(">", 0)))
	e.Expect(measured()).To(HaveKeyWithValue(applied+`_count{type="measured"}`, 1.0))
}
