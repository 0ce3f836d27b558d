// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// Gardener's own extension was measured at 22.7 requests for a fresh Network,
// conflicts among them.
func TestAFreshNetworkCostsFewRequests(t *testing.T) {
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		e.finished(asked)
		requests := e.requests.all()
		t.Logf("%d requests:\n%s", len(requests), strings.Join(requests, "\n"))
		e.Expect(len(requests)).To(BeNumerically("<=", 5))
		e.Expect(slices.ContainsFunc(requests, func(line string) bool { return strings.HasSuffix(line, "409") })).To(BeFalse(), "no conflict")
	})
}

// Invariant 5, L2: an unchanged Network costs nothing, whatever happens around it.
func TestAnUnchangedNetworkCostsNoRequest(t *testing.T) {
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		n := e.finished(asked)
		e.requests.forget()
		e.applied() // the resource manager looks again
		e.cluster(func(s *corev1beta1.Shoot) { s.Labels = map[string]string{"a": "b"} })
		e.patch(n, func(n *extensionsv1alpha1.Network) { metav1.SetMetaDataAnnotation(&n.ObjectMeta, "color", "blue") })
		e.stays(n)
		e.restart()
		e.stays(n)
		e.Expect(e.requests.all()).To(BeEmpty())
	})
}

// With the annotation, exactly what the contract demands: the annotation gone,
// Processing, the outcome.
func TestAskingAgainCostsThreeRequests(t *testing.T) {
	modes(t, func(t *testing.T, e *env, _ func(*extensionsv1alpha1.Network)) {
		n := e.finished(asking("reconcile"))
		before := n.Status.LastOperation.LastUpdateTime
		e.requests.forget()
		e.patch(n, func(n *extensionsv1alpha1.Network) {
			asking("reconcile")(n)
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, extensionsv1alpha1.TimestampAnnotation, time.Now().UTC().Format(time.RFC3339Nano))
		})
		e.becomes(n, again, fine)
		e.stays(n)
		e.Expect(e.requests.all()).To(HaveLen(3))
		e.Expect(n.Annotations).NotTo(HaveKey(extensionsv1alpha1.OperationAnnotation))
		e.Expect(n.Status.LastOperation.LastUpdateTime.Time).NotTo(BeTemporally("<", before.Time))
	})
}
