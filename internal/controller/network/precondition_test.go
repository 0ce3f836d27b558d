// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"context"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// withShoot gives the controller access to a shoot, whose part the seed plays.
func (e *env) withShoot() {
	e.t.Helper()
	e.client.PutAccess(e.t, e.namespace, e.client.Kubeconfig)
}

// withNodes is held by the test that has nodes, which all tests' shoots have in common.
var withNodes sync.Mutex

// nodes gives the test the nodes that all tests' shoots have in common: none so far.
func (e *env) nodes() {
	if !e.hasNodes {
		withNodes.Lock()
		e.t.Cleanup(withNodes.Unlock)
		e.hasNodes = true
	}
}

// node makes a node that has, or has not, the condition which a routed network needs.
func (e *env) node(reason string) *corev1.Node {
	e.nodes()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "node-"}}
	e.Expect(e.client.Create(e.t.Context(), node)).To(Succeed())
	e.t.Cleanup(func() { e.Expect(e.client.Delete(context.Background(), node)).To(Succeed()) })
	e.setPrepared(node, reason)
	return node
}

func (e *env) setPrepared(node *corev1.Node, reason string) {
	if reason == "" {
		return
	}
	before := node.DeepCopy()
	node.Status.Conditions = []corev1.NodeCondition{{Type: "Prepared", Status: corev1.ConditionTrue, Reason: reason}}
	e.Expect(e.client.Status().Patch(e.t.Context(), node, client.MergeFrom(before))).To(Succeed())
}

// A change that the nodes are not ready for waits for them, and says for which.
func TestAChangeWaitsForTheNodes(t *testing.T) {
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		e.withShoot()
		n := e.finished(asked)
		mr := e.managedResource()
		before := mr.Spec.SecretRefs
		e.node("Verified")
		node := e.node("Pending")
		e.patch(n, func(n *extensionsv1alpha1.Network) { withConfig(`{"backend":"routed"}`)(n); asked(n) })
		e.becomes(n, again, erroneous)
		e.Expect(n.Status.LastError.Description).To(HaveSuffix("the network is not changed until each node has the condition " +
			"Prepared=True with the reason Verified, because routed pods need prepared nodes: " +
			"node " + node.Name + " has the condition Prepared=True with the reason Pending"))
		e.Expect(n.Status.LastError.Codes).To(BeEmpty(), "it is retried")
		e.Expect(string(n.Status.ProviderStatus.Raw)).To(ContainSubstring("overlay"))
		e.get(mr)
		e.Expect(mr.Spec.SecretRefs).To(Equal(before))

		e.setPrepared(node, "Verified")
		e.Eventually(func() []corev1.LocalObjectReference { e.get(mr); return mr.Spec.SecretRefs }).ShouldNot(Equal(before))
		e.applied()
		e.becomes(n, again, fine)
	})
}

// What could not be found out keeps the network as it is, too.
func TestAChangeIsNotMadeBlindly(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(e *env, bundle string)
		says  string
	}{
		"no access to the shoot": {func(*env, string) {}, "check the nodes before changing the network (routed pods need prepared nodes): there is no access to the shoot"},
		"a missing bundle": {func(e *env, bundle string) {
			e.stop() // it would put it back
			e.Expect(e.client.Delete(e.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: bundle, Namespace: e.namespace}})).To(Succeed())
		}, "read the network's present objects: read the Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			e := setup(t, inGardener)
			n := e.finished(asking("reconcile"))
			mr := e.managedResource()
			test.spoil(e, mr.Spec.SecretRefs[0].Name)
			e.patch(n, func(n *extensionsv1alpha1.Network) { withConfig(`{"backend":"routed"}`)(n); asking("reconcile")(n) })
			e.restart()
			e.becomes(n, again, erroneous)
			e.Expect(n.Status.LastError.Description).To(ContainSubstring(test.says))
			e.stays(mr)
		})
	}
}

// Neither a new cluster nor one that sleeps, nor one which has something else, has
// anything to lose.
func TestWhatCannotBeInterruptedIsNotWaitedFor(t *testing.T) {
	t.Run("new", func(t *testing.T) {
		e := setup(t)
		e.withShoot()
		e.nodes()
		e.finished(withConfig(`{"backend":"routed"}`))
	})
	t.Run("something else", func(t *testing.T) {
		e := setup(t)
		e.node("Pending")
		n := e.finished(withConfig(`{"backend":"none"}`))
		e.patch(n, withConfig(`{"backend":"routed"}`))
		e.becomes(n, again, working)
	})
	t.Run("asleep", func(t *testing.T) {
		e := setup(t)
		e.node("Pending")
		n := e.finished()
		e.cluster(func(s *corev1beta1.Shoot) { s.Spec.Hibernation = &corev1beta1.Hibernation{Enabled: ptr.To(true)} })
		e.patch(n, withConfig(`{"backend":"routed"}`))
		e.becomes(n, again, fine)
	})
}

// Without its bundle, what a shoot has is what was applied last, wherever that was: a
// control plane that has moved is no new cluster.
func TestARestoredNetworkIsNotChangedBlindly(t *testing.T) {
	for name, test := range map[string]struct {
		before, reason string
		state          corev1beta1.LastOperationState
	}{
		"from overlay to routed":              {`{}`, "Pending", erroneous},
		"from overlay to routed, nodes ready": {`{}`, "Verified", working},
		"routed already, whatever the node":   {`{"backend":"none"}`, "Pending", working},
	} {
		t.Run(name, func(t *testing.T) {
			e := setup(t, inGardener)
			state := e.stateOfAnother(asking("reconcile"), withConfig(test.before))
			e.withShoot()
			e.node(test.reason)
			n := e.network(asking("wait-for-state"), withConfig(`{"backend":"routed"}`))
			before := n.DeepCopy()
			n.Status.State = state
			e.Expect(e.client.Status().Patch(t.Context(), n, client.MergeFrom(before))).To(Succeed())
			e.patch(n, asking("restore"))
			e.becomes(n, restoring, test.state)
			if test.state == erroneous {
				e.Expect(n.Status.LastError.Description).To(ContainSubstring("the network is not changed until each node has the condition"))
				e.Expect(e.names()).To(BeEmpty())
			}
		})
	}
}

// A shoot that has nodes, and of whose network nothing is known, may have one that was
// made by others.
func TestAClusterWithNodesIsNoNewOne(t *testing.T) {
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		e.withShoot()
		node := e.node("Pending")
		n := e.network(asked, withConfig(`{"backend":"routed"}`))
		e.becomes(n, create, erroneous)
		e.Expect(n.Status.LastError.Description).To(HaveSuffix("node " + node.Name + " has the condition Prepared=True with the reason Pending"))
		e.Expect(e.names()).To(BeEmpty())
		e.setPrepared(node, "Verified")
		e.managedResource()
		e.applied()
		e.becomes(n, create, fine)
	})
}
