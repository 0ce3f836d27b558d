// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trellis-network/trellis/plugin"
)

// switches is a cluster in which an overlay can be taken away without an outage.
func switches(facts *plugin.Input) {
	facts.FeatureGates = map[string]bool{"SeamlessOverlaySwitch": true}
	facts.KubernetesVersion = "1.36.0"
}

func runtimeConfig(served ...string) option {
	return func(facts *plugin.Input) {
		facts.KubernetesVersion = "1.35.7"
		facts.APIServer.FeatureGates = map[string]bool{"MutatingAdmissionPolicy": true}
		facts.APIServer.RuntimeConfig = map[string]bool{}
		for _, version := range served {
			facts.APIServer.RuntimeConfig[version] = true
		}
	}
}

// Only a network that gives up its overlay waits, and only where the routes can be seen,
// as in Gardener's extension.
func TestAnOverlayGoesOnceTheCloudHasMadeRoutes(t *testing.T) {
	const off = "{overlay: {enabled: false}}"
	for name, test := range map[string]struct {
		config  string
		options []option
		waits   bool
	}{
		"overlay off":                    {off, []option{switches}, true},
		"overlay on":                     {"{overlay: {enabled: true}}", []option{switches}, false},
		"nothing said of an overlay":     {"", []option{switches}, false},
		"without the gate":               {off, nil, false},
		"an older version":               {off, []option{switches, func(f *plugin.Input) { f.KubernetesVersion = "1.35.7" }}, false},
		"an older version with v1beta1":  {off, []option{switches, runtimeConfig("admissionregistration.k8s.io/v1beta1")}, true},
		"an older version with v1alpha1": {off, []option{switches, runtimeConfig("admissionregistration.k8s.io/v1alpha1")}, true},
		"an older version with the gate": {off, []option{switches, runtimeConfig()}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			wanted := build(t, test.config, test.options...).Precondition
			g.Expect(wanted != nil).To(Equal(test.waits))
			if wanted == nil {
				return
			}
			g.Expect(wanted.Condition).To(Equal(corev1.NodeNetworkUnavailable))
			g.Expect(wanted.Status).To(Equal(corev1.ConditionFalse))
			g.Expect(wanted.Reason).To(Equal("RouteCreated"))
		})
	}
}

// It concerns networks with tunnels, which the variables of calico-node tell.
func TestOnlyAnOverlayThatIsThereConcerns(t *testing.T) {
	wanted := build(t, "{overlay: {enabled: false}}", switches).Precondition
	for name, test := range map[string]struct {
		config   string
		concerns bool
	}{
		"IP-in-IP":   {"{overlay: {enabled: true}}", true},
		"VXLAN":      {"{overlay: {enabled: true}, vxlan: {enabled: true}}", true},
		"no overlay": {"{overlay: {enabled: false}}", false},
	} {
		t.Run(name, func(t *testing.T) {
			var present []unstructured.Unstructured
			for _, object := range networks.Objects(t, test.config).For(plugin.Shoot) {
				raw, err := json.Marshal(object)
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
				one := unstructured.Unstructured{}
				NewWithT(t).Expect(json.Unmarshal(raw, &one.Object)).To(Succeed())
				present = append(present, one)
			}
			NewWithT(t).Expect(wanted.AppliesTo(present)).To(Equal(test.concerns))
		})
	}
	NewWithT(t).Expect(wanted.AppliesTo(nil)).To(BeFalse())
}
