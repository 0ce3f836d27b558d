// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/internal/transition"
	"github.com/trellis-network/trellis/pipeline"
)

// overlaid is a shoot with a network that encapsulates packets, or comes to do so.
type overlaid struct {
	*stepping
	node *corev1.Node
}

// newOverlaid starts one with agents of the network iron, which is all that its steps wait for.
func newOverlaid(t *testing.T, networkType, config string, kinds ...schema.GroupVersionKind) (*overlaid, *extensionsv1alpha1.Network) {
	o := &overlaid{stepping: &stepping{clock: clocktesting.NewFakePassiveClock(time.Now())}}
	var n *extensionsv1alpha1.Network
	o.env, n, o.node = typedAs(t, networkType, config, func(options *network.Options) { options.Pipeline, options.Clock = withTypes(t, kinds), o.clock })
	labels := map[string]string{"app": "iron"}
	o.agents = &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "iron", Namespace: metav1.NamespaceSystem}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "agent"}}}},
	}}
	o.Expect(o.client.Create(t.Context(), o.agents)).To(Succeed())
	t.Cleanup(func() { _ = o.client.Delete(context.Background(), o.agents) })
	o.runs(3)
	return o, n
}

// steps plays the resource manager and time until the network iron has this backend.
func (o *overlaid) steps(n *extensionsv1alpha1.Network, backend string) {
	o.t.Helper()
	o.Eventually(func(g Gomega) {
		o.clock.SetTime(o.clock.Now().Add(10 * time.Minute))
		o.appliesAll("iron-config")
		o.get(n)
		kept, err := state.Decode(n.Status.State)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(kept.Transition).To(BeNil())
		g.Expect(string(kept.Applied.Config)).To(ContainSubstring(`"backend":"` + backend + `"`))
	}).WithTimeout(time.Minute).WithPolling(time.Second).Should(Succeed())
}

func (o *overlaid) isThere(bundle string) bool {
	err := o.client.Get(o.t.Context(), client.ObjectKey{Namespace: o.namespace, Name: bundle}, &resourcesv1alpha1.ManagedResource{})
	o.Expect(client.IgnoreNotFound(err)).To(Succeed())
	return !apierrors.IsNotFound(err)
}

// Pods of the two networks reach each other only if neither encapsulates packets.
func TestANetworkRoutesNativelyBeforeItsTypeChanges(t *testing.T) {
	o, n := newOverlaid(t, "iron", `{"backend":"overlay"}`)
	changes := func(n *extensionsv1alpha1.Network) { changingTo("zinc", "true")(n); n.Spec.ProviderConfig = nil }
	o.patch(n, changes)
	record := o.at(n, 1, transition.Applying, transition.RollingOut, transition.Verifying)
	o.Expect(record.Steps).To(Equal(2))
	o.Expect(o.exchange(n).Base).To(BeNil())
	o.Expect(o.isThere("zinc-config")).To(BeFalse())

	t.Log("a process that has ended goes on, and a user may turn back")
	o.restart()
	o.patch(n, func(n *extensionsv1alpha1.Network) {
		changingTo("iron", "true")(n)
		withConfig(`{"backend":"overlay"}`)(n)
	})
	o.steps(n, "overlay")
	o.Expect(o.exchange(n)).To(BeNil())

	o.patch(n, changes)
	o.steps(n, "some")
	o.Eventually(func() bool { return o.isThere("zinc-config") }).Should(BeTrue())
	o.Expect(o.exchange(n).Base.Accepted.Spec.Type).To(Equal("iron"))
	o.Expect(n.Spec.Type).To(Equal("zinc"))
}

// Nothing of the way to another type is begun that cannot be ended.
func TestANetworkStaysAsItIsWhileItsTypeCannotChange(t *testing.T) {
	o, n := newOverlaid(t, "iron", `{"backend":"overlay"}`, networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"))
	o.patch(n, func(n *extensionsv1alpha1.Network) {
		changingTo("zinc", "true")(n)
		withConfig(`{"backend":"overlay"}`)(n) // zinc has no native routing
	})
	o.becomes(n, again, erroneous)
	o.Expect(n.Status.LastError.Description).To(ContainSubstring("spec.providerConfig.backend: Forbidden: must not be overlay while the type changes"))
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: "users"}}
	o.Expect(o.client.Create(t.Context(), policy)).To(Succeed())
	t.Cleanup(func() { _ = o.client.Delete(context.Background(), policy) })
	o.patch(n, func(n *extensionsv1alpha1.Network) { n.Spec.ProviderConfig = nil })
	o.Eventually(func() string {
		o.get(n)
		if n.Status.LastError == nil {
			return ""
		}
		return n.Status.LastError.Description
	}).Should(ContainSubstring("the type of the network is not changed while the cluster has the NetworkPolicy"))
	kept, err := state.Decode(n.Status.State)
	o.Expect(err).NotTo(HaveOccurred())
	o.Expect(string(kept.Applied.Config)).To(ContainSubstring(`"backend":"overlay"`))
}

// The network that the user asks for comes once nothing else is there that must understand it.
func TestANetworkEncapsulatesOnceAllNodesHaveItsType(t *testing.T) {
	o, n := newOverlaid(t, "tin", "")
	o.patch(n, func(n *extensionsv1alpha1.Network) {
		changingTo("iron", "true")(n)
		withConfig(`{"backend":"overlay"}`)(n)
	})
	o.appliesAll(pipeline.CleanerBundle, "iron-config", "tin-config")
	o.Eventually(o.env.at(o.node)).Should(Equal("Cleaning/none"))
	o.pod(pipeline.CleanerName, o.node)
	o.Eventually(o.env.at(o.node)).Should(Equal("Joining /iron"))
	o.Expect(o.client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(metav1.NamespaceSystem), client.MatchingFields{"spec.nodeName": o.node.Name})).To(Succeed())
	o.pod("iron", o.node)
	o.node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	o.Expect(o.client.Status().Update(t.Context(), o.node)).To(Succeed())
	o.Eventually(func(g Gomega) {
		o.clock.SetTime(o.clock.Now().Add(time.Minute))
		o.appliesAll("iron-config")
		g.Expect(o.exchange(n) == nil).To(BeTrue())
	}).WithTimeout(time.Minute).WithPolling(time.Second).Should(Succeed())
	kept, err := state.Decode(n.Status.State)
	o.Expect(err).NotTo(HaveOccurred())
	o.Expect(string(kept.Applied.Config)).NotTo(ContainSubstring("overlay"))
	o.steps(n, "overlay")
	o.Eventually(func() bool { return o.isThere("tin-config") }).Should(BeFalse())
}
