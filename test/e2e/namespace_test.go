// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (w *world) controlPlane() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--dev--johndoe-azure"}}
}

// deleteControlPlane deletes the control plane's namespace in the seed as kubectl does,
// and does not wait for its end.
func (w *world) deleteControlPlane() {
	w.t.Helper()
	w.Expect(w.seed.Delete(w.t.Context(), w.controlPlane())).To(Succeed())
}

func uidOf(w *world, c cluster, object client.Object) func() types.UID {
	return func() types.UID {
		if c.Get(w.t.Context(), client.ObjectKeyFromObject(object), object) != nil {
			return ""
		}
		return object.GetUID()
	}
}

// A user deletes the namespace of a control plane. The operator first deletes the network
// in the shoot, since it keeps its access to the shoot until then. Afterwards it creates the
// control plane and the network again.
func TestADeletedControlPlaneComesBack(t *testing.T) {
	w := setup(t, forNamespaces)
	seedBefore, shootBefore := w.snapshot(w.seed), w.snapshot(w.shoot)
	w.apply(w.johndoe())
	w.succeeds()
	withNetwork := w.snapshot(w.shoot)
	node := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "calico-node"}}
	namespaceUID, nodeUID := uidOf(w, w.seed, w.controlPlane())(), uidOf(w, w.shoot, node)()

	w.deleteControlPlane()
	w.Eventually(uidOf(w, w.seed, w.controlPlane())).WithTimeout(patience).ShouldNot(Or(BeEmpty(), Equal(namespaceUID)))
	w.succeeds()
	w.Expect(uidOf(w, w.shoot, node)()).NotTo(Or(BeEmpty(), Equal(nodeUID)), "the operator must have deleted and created it again")
	w.Eventually(func() []string { return difference(withNetwork, w.snapshot(w.shoot)) }).WithPolling(time.Second).Should(BeEmpty())

	w.delete()
	w.Expect(difference(seedBefore, w.snapshot(w.seed))).To(BeEmpty())
	w.Expect(difference(shootBefore, w.snapshot(w.shoot))).To(BeEmpty())
}

// A user may delete the Shoot, the namespace of its control plane and the kubeconfig in any
// order. The operator leaves no object behind, neither in the seed nor in the shoot.
func TestDeletionsInAnyOrderLeaveNothingBehind(t *testing.T) {
	w := setup(t, forNamespaces)
	kubeconfig := &corev1.Secret{}
	key := client.ObjectKey{Namespace: "garden-dev", Name: "johndoe-azure.kubeconfig"}
	w.Expect(w.seed.Get(t.Context(), key, kubeconfig)).To(Succeed())
	again := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: kubeconfig.Labels, Annotations: kubeconfig.Annotations},
		Type:       kubeconfig.Type, Data: kubeconfig.Data,
	}
	restoreKubeconfig := func() {
		_ = client.IgnoreAlreadyExists(w.seed.Create(t.Context(), again.DeepCopy()))
	}
	deleteShoot := func() { w.Expect(w.seed.Delete(t.Context(), w.johndoe())).To(Succeed()) }
	deleteKubeconfig := func() { w.Expect(w.seed.Delete(t.Context(), again.DeepCopy())).To(Succeed()) }
	seedBefore, shootBefore := w.snapshot(w.seed), w.snapshot(w.shoot)

	for _, order := range []struct {
		name  string
		steps []func()
	}{
		{"the namespace, then the Shoot", []func(){w.deleteControlPlane, deleteShoot}},
		{"the Shoot, then the namespace", []func(){deleteShoot, w.deleteControlPlane}},
		{"the kubeconfig, then the Shoot", []func(){deleteKubeconfig, deleteShoot}},
		{"the kubeconfig, the namespace, then the Shoot", []func(){deleteKubeconfig, w.deleteControlPlane, deleteShoot}},
	} {
		t.Logf("deleting %s", order.name)
		w.apply(w.johndoe())
		w.succeeds()
		for _, step := range order.steps {
			step()
		}
		w.gone()
		restoreKubeconfig()
		w.Eventually(func() []string { return difference(seedBefore, w.snapshot(w.seed)) }).WithPolling(time.Second).Should(BeEmpty(), order.name)
		w.Expect(difference(shootBefore, w.snapshot(w.shoot))).To(BeEmpty(), order.name)
	}
}
