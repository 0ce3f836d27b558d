// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/test/sandbox"
)

// networks are all network types, each with the DaemonSet of its agents and a change that
// rolls the agents.
var networks = map[string]struct{ agents, change string }{
	"calico":  {"calico-node", `{"vethMTU":"1400"}`},
	"cilium":  {"cilium", `{"debug":true}`},
	"flannel": {"kube-flannel-ds", `{"mtu":1400}`},
}

// Each shoot has a network of its own, and a change of one does not affect the others.
func TestNetworksLiveSideBySide(t *testing.T) {
	w := setup(t, forNetworks)
	names := slices.Sorted(maps.Keys(networks))
	for _, name := range names {
		w.Expect(w.seed.Create(t.Context(), w.shootWith(name))).To(Succeed())
	}
	for _, name := range names {
		w.runs(name, networks[name].agents)
	}
	for i, name := range names {
		before := map[string]map[string]string{}
		for _, other := range names {
			before[other] = w.inShoot(other)
		}
		shoot := w.shootWith(name)
		patch := fmt.Sprintf(`{"spec":{"networking":{"providerConfig":%s}}}`, networks[name].change)
		w.Expect(w.seed.Patch(t.Context(), shoot, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
		w.runs(name, networks[name].agents)
		w.Eventually(func() map[string]string { return w.inShoot(name) }).WithPolling(time.Second).ShouldNot(Equal(before[name]), name)
		for _, other := range slices.Delete(slices.Clone(names), i, i+1) {
			w.Expect(w.inShoot(other)).To(Equal(before[other]), "%s, when %s changes", other, name)
		}
	}

	w.leavesOutTheProbe("flannel")

	// Without the annotation another type is refused, and with it one to which the network that runs has no way.
	w.refusesAnotherType(`{"spec":{"networking":{"type":"flannel"}}}`, "the cluster's network was made with calico: set it back")
	w.refusesAnotherType(`{"metadata":{"annotations":{"trellis.network/change-type":"true"}},"spec":{"networking":{"type":"flannel","providerConfig":null}}}`,
		"the network of type calico that runs stands in the way: its overlay.enabled must be false while the type of the network changes")

	for _, name := range names {
		w.Expect(w.seed.Delete(t.Context(), w.shootWith(name))).To(Succeed())
	}
	for _, name := range names {
		w.Eventually(func() error {
			return client.IgnoreNotFound(w.seed.Get(t.Context(), client.ObjectKeyFromObject(w.shootWith(name)), &corev1beta1.Shoot{}))
		}).WithTimeout(patience).Should(Succeed())
	}
	w.stopOperator(syscall.SIGTERM)
}

// shootWith returns a Shoot that is named after the type of its network.
func (w *world) shootWith(networkType string) *corev1beta1.Shoot {
	shoot := &corev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-dev", Name: networkType}}
	shoot.Spec.Provider = corev1beta1.Provider{Type: "local", Workers: []corev1beta1.Worker{{Name: "one", Minimum: 1, Maximum: 2}}}
	shoot.Spec.Kubernetes.Version = "1.36.3"
	shoot.Spec.Networking = &corev1beta1.Networking{
		Type: ptr.To(networkType), Pods: ptr.To("100.64.0.0/12"), Services: ptr.To("100.96.0.0/13"), Nodes: ptr.To("10.250.0.0/16"),
	}
	return shoot
}

// runs waits until the operator has reconciled the present generation of a Shoot, and its
// agents are up to date and available.
func (w *world) runs(name, agents string) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		shoot := &corev1beta1.Shoot{}
		g.Expect(w.seed.Get(w.t.Context(), client.ObjectKey{Namespace: "garden-dev", Name: name}, shoot)).To(Succeed())
		g.Expect(shoot.Status.ObservedGeneration).To(Equal(shoot.Generation), name)
		g.Expect(shoot.Status.LastOperation).To(HaveField("State", corev1beta1.LastOperationStateSucceeded), name)
		set := &appsv1.DaemonSet{}
		g.Expect(w.shootNamed(name).Get(w.t.Context(), inKubeSystem(agents), set)).To(Succeed())
		g.Expect(set.Status.ObservedGeneration).To(Equal(set.Generation))
		g.Expect(set.Status.DesiredNumberScheduled).To(BeEquivalentTo(1))
		g.Expect(set.Status.UpdatedNumberScheduled).To(Equal(set.Status.DesiredNumberScheduled))
		g.Expect(set.Status.NumberAvailable).To(Equal(set.Status.DesiredNumberScheduled))
	}).Should(Succeed())
}

// leavesOutTheProbe annotates a Shoot as docs/connectivity.md tells users, and expects that its network
// has no probe and no verdict any more.
func (w *world) leavesOutTheProbe(name string) {
	w.t.Helper()
	get := func() error {
		return w.shootNamed(name).Get(w.t.Context(), inKubeSystem("trellis-probe"), &appsv1.DaemonSet{})
	}
	conditions := func() []corev1beta1.Condition {
		network := &extensionsv1alpha1.Network{}
		w.Expect(w.seed.Get(w.t.Context(), client.ObjectKey{Namespace: "shoot--dev--" + name, Name: name}, network)).To(Succeed())
		return network.Status.Conditions
	}
	hasVerdict := ContainElement(HaveField("Type", extensionsv1alpha1.PodNetworkAvailable))
	w.Expect(get()).To(Succeed())
	w.Eventually(conditions).Should(hasVerdict)
	annotated := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"false"}}}`, extensionsv1alpha1.ProbeAnnotation)
	w.Expect(w.seed.Patch(w.t.Context(), w.shootWith(name), client.RawPatch(types.MergePatchType, annotated))).To(Succeed())
	w.Eventually(get).Should(MatchError(ContainSubstring("not found")))
	w.Eventually(conditions).ShouldNot(hasVerdict)
}

// shootNamed returns the cluster of a Shoot.
func (w *world) shootNamed(name string) cluster {
	if known, ok := w.named[name]; ok {
		return known
	}
	at := slices.IndexFunc(w.box.Shoots, func(shoot sandbox.Shoot) bool { return shoot.Name == name })
	w.Expect(at).NotTo(BeNumerically("<", 0), "the landscape has no shoot %s", name)
	w.named[name] = w.connect(w.box.Shoots[at].Kubeconfig)
	return w.named[name]
}

// inShoot returns a snapshot of a Shoot's cluster.
func (w *world) inShoot(name string) map[string]string { return w.snapshot(w.shootNamed(name)) }

// refusesAnotherType changes the type of the Shoot with Calico, expects what its status says, and that the network
// stays as it is, and changes it back.
func (w *world) refusesAnotherType(patch, says string) {
	w.t.Helper()
	before, shoot := w.inShoot("calico"), w.shootWith("calico")
	w.Expect(w.seed.Get(w.t.Context(), client.ObjectKeyFromObject(shoot), shoot)).To(Succeed())
	networking := shoot.Spec.Networking.DeepCopy()
	w.Expect(w.seed.Patch(w.t.Context(), shoot, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
	w.Eventually(func() string {
		w.Expect(w.seed.Get(w.t.Context(), client.ObjectKeyFromObject(shoot), shoot)).To(Succeed())
		return shoot.Status.LastOperation.Description
	}).WithTimeout(patience).Should(ContainSubstring(says))
	w.Expect(w.inShoot("calico")).To(Equal(before))
	base := shoot.DeepCopy()
	shoot.Spec.Networking, shoot.Annotations = networking, nil
	w.Expect(w.seed.Patch(w.t.Context(), shoot, client.MergeFrom(base))).To(Succeed())
	w.Eventually(func() bool {
		w.Expect(w.seed.Get(w.t.Context(), client.ObjectKeyFromObject(shoot), shoot)).To(Succeed())
		return shoot.Status.LastOperation.State == corev1beta1.LastOperationStateSucceeded
	}).WithTimeout(patience).Should(BeTrue())
}
