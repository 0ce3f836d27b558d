// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/test/contract"
)

// nodesReady is a Shoot on its way to dual-stack.
func nodesReady(status corev1beta1.ConditionStatus) func(*corev1beta1.Shoot) {
	return func(s *corev1beta1.Shoot) {
		s.Status.Constraints = []corev1beta1.Condition{{Type: "DualStackNodesMigrationReady", Status: status}}
	}
}

// written is what was written for the shoot.
func (e *env) written() string {
	e.t.Helper()
	objects, err := bundle.Read(e.t.Context(), e.client, e.managedResource())
	e.Expect(err).NotTo(HaveOccurred())
	return objects[0].Object["data"].(map[string]any)["content"].(string)
}

// A second family waits for the nodes, and the status says so until it
// is there: gardenlet goes by it.
func TestASecondFamilyWaitsForTheNodes(t *testing.T) {
	contract.Shows(t, "N25", "N26")
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		e.cluster(nodesReady(corev1beta1.ConditionProgressing))
		n := e.finished(asked, func(n *extensionsv1alpha1.Network) {
			n.Spec.IPFamilies = []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6}
		})
		e.Expect(e.written()).To(Equal("overlay"))
		e.Expect(n.Status.IPFamilies).To(HaveExactElements(extensionsv1alpha1.IPv4))

		e.cluster(nodesReady(corev1beta1.ConditionTrue))
		e.patch(n, asked)
		e.Eventually(e.written).Should(Equal("overlay dual-stack"))
		e.get(n)
		e.Expect(n.Status.IPFamilies).To(HaveExactElements(extensionsv1alpha1.IPv4), "the second one is not applied yet")
		e.applied()
		e.Eventually(func() []extensionsv1alpha1.IPFamily { e.get(n); return n.Status.IPFamilies }).
			Should(HaveExactElements(extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6))
	})
}

// Without the constraint no write waits.
func TestBothFamiliesAreThereFromTheStart(t *testing.T) {
	contract.Shows(t, "N26")
	e := setup(t)
	n := e.finished(func(n *extensionsv1alpha1.Network) {
		n.Spec.IPFamilies = []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6}
	})
	e.Expect(e.written()).To(Equal("overlay dual-stack"))
	e.Expect(n.Status.IPFamilies).To(HaveExactElements(extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6))
}

// Who cannot route Services says so.
func TestWithoutKubeProxyTheNetworkMustRouteServices(t *testing.T) {
	contract.Shows(t, "N27")
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		e.cluster(func(s *corev1beta1.Shoot) {
			s.Spec.Kubernetes.KubeProxy = &corev1beta1.KubeProxy{Enabled: ptr.To(false)}
		})
		n := e.network(asked)
		e.becomes(n, create, erroneous)
		e.Expect(n.Status.LastError.Description).To(ContainSubstring("spec.kubernetes.kubeProxy.enabled: Forbidden: this network does not route Services"))
		e.Expect(n.Status.LastError.Codes).To(ConsistOf(corev1beta1.ErrorConfigurationProblem))
	})
}
