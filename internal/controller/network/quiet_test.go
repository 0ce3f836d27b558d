// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// Gardener's own extension was measured at 22.7 requests for a fresh Network,
// conflicts among them. Three are for the Network, and two for each bundle.
func TestAFreshNetworkCostsFewRequests(t *testing.T) {
	for name, test := range map[string]struct {
		config string
		most   int
	}{
		"objects for the shoot": {`{}`, 5},
		"for the seed, too":     {`{"monitoring":"left"}`, 7},
		"and such as come later, which only few networks have": {`{"monitoring":"left","extras":"two"}`, 9},
	} {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
				e.judging()
				n := e.finished(asked, withConfig(test.config))
				e.Eventually(func() []corev1beta1.Condition { e.get(n); return n.Status.Conditions }).ShouldNot(BeEmpty())
				requests := e.requests.All()
				t.Logf("%d requests:\n%s", len(requests), strings.Join(requests, "\n"))
				e.Expect(len(requests)).To(BeNumerically("<=", test.most))
				e.Expect(requests).NotTo(ContainElement(HaveSuffix("409")), "no conflict")
			})
		})
	}
}

// judging plays the controller that reports the network's health: as soon as a Network says
// what to look at, a condition is written into its status.
func (e *env) judging() {
	networks, err := e.client.Watch(e.t.Context(), &extensionsv1alpha1.NetworkList{}, client.InNamespace(e.namespace))
	e.Expect(err).NotTo(HaveOccurred())
	go func() {
		for event := range networks.ResultChan() {
			n, ok := event.Object.(*extensionsv1alpha1.Network)
			if !ok || n.Status.State == nil || len(n.Status.Conditions) > 0 {
				continue
			}
			if err := reportHealth(e.t.Context(), e.client, n); client.IgnoreNotFound(err) != nil && e.t.Context().Err() == nil {
				e.t.Errorf("report the health: %v", err)
			}
		}
	}()
}

func reportHealth(ctx context.Context, reporter client.Client, n *extensionsv1alpha1.Network) error {
	before := n.DeepCopy()
	now := metav1.Now()
	n.Status.Conditions = []corev1beta1.Condition{{Type: "SystemComponentsHealthy", Status: "Unknown", LastTransitionTime: now, LastUpdateTime: now}}
	return reporter.Status().Patch(ctx, n, client.MergeFrom(before))
}

// The resource manager writes the status of the ManagedResource that the
// controller writes the spec of.
func TestOthersWritingStatusesAreNoError(t *testing.T) {
	e := setup(t)
	n := e.finished()
	e.requests.Forget()
	for i := range 10 {
		e.patch(n, withConfig(fmt.Sprintf(`{"backend":"wool-%d"}`, i)))
		for range 5 {
			e.applied()
			e.get(n)
			e.Expect(n.Status.LastError).To(BeNil())
		}
	}
	e.Eventually(func() string { e.applied(); e.get(n); return string(n.Status.ProviderStatus.Raw) }).Should(ContainSubstring("wool-9"))
	e.Expect(e.requests.All()).NotTo(ContainElement(HaveSuffix("409")))
}

// Its own Secrets need no label that they have from the start.
func TestAChangePatchesNoSecret(t *testing.T) {
	e := setup(t, inGardener)
	n := e.finished(asking("reconcile"))
	e.requests.Forget()
	e.patch(n, func(n *extensionsv1alpha1.Network) { withConfig(`{"backend":"wool"}`)(n); asking("reconcile")(n) })
	e.Eventually(func() int64 { return e.managedResource().Generation }).Should(BeEquivalentTo(2))
	e.applied()
	e.becomes(n, again, fine)
	e.Expect(e.requests.All()).NotTo(ContainElement(MatchRegexp("^PATCH .*/secrets/")))
	e.Expect(e.requests.All()).NotTo(ContainElement(MatchRegexp(" 5..$")))
}

// Invariant 5: an unchanged Network costs nothing, whatever happens around it.
func TestAnUnchangedNetworkCostsNoRequest(t *testing.T) {
	contract.Shows(t, "L2")
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		n := e.finished(asked)
		e.requests.Forget()
		e.applied() // the resource manager looks again
		e.cluster(func(s *corev1beta1.Shoot) { s.Labels = map[string]string{"a": "b"} })
		e.patch(n, func(n *extensionsv1alpha1.Network) { metav1.SetMetaDataAnnotation(&n.ObjectMeta, "color", "blue") })
		e.stays(n)
		e.restart()
		e.stays(n)
		e.Expect(e.requests.All()).To(BeEmpty())
	})
}

// With the annotation, exactly what the contract demands: the annotation gone,
// Processing, the outcome.
func TestAskingAgainCostsThreeRequests(t *testing.T) {
	modes(t, func(t *testing.T, e *env, _ func(*extensionsv1alpha1.Network)) {
		n := e.finished(asking("reconcile"))
		before := n.Status.LastOperation.LastUpdateTime
		e.requests.Forget()
		e.patch(n, func(n *extensionsv1alpha1.Network) {
			asking("reconcile")(n)
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, extensionsv1alpha1.TimestampAnnotation, time.Now().UTC().Format(time.RFC3339Nano))
		})
		e.becomes(n, again, fine)
		e.stays(n)
		e.Expect(e.requests.All()).To(HaveLen(3))
		for _, request := range e.requests.Sent() {
			var patch struct{ Status map[string]any }
			e.Expect(json.Unmarshal([]byte(request.Body), &patch)).To(Succeed())
			e.Expect(patch.Status).NotTo(HaveKey("state"), "the API server takes longest for the state: %s", request.Body)
		}
		e.Expect(n.Annotations).NotTo(HaveKey(extensionsv1alpha1.OperationAnnotation))
		e.Expect(n.Status.LastOperation.LastUpdateTime.Time).NotTo(BeTemporally("<", before.Time))
	})
}

// An API server does not store a null that is written by a merge patch.
func TestANullInAConfigIsNoDifference(t *testing.T) {
	e := setup(t)
	n := e.finished(withConfig(`{"backend":"none","extras":null}`))
	e.get(n)
	e.Expect(string(n.Status.State.Raw)).NotTo(ContainSubstring("null"))
	e.requests.Forget()
	e.applied() // the resource manager observes it again
	e.restart()
	e.stays(n)
	e.Expect(e.requests.All()).To(BeEmpty())
}
