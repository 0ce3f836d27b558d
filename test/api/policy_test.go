// SPDX-License-Identifier: Apache-2.0

package api

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
	"github.com/trellis-network/trellis/test/install"
)

// The spec of a Network that is being deleted cannot change. Metadata can, so that
// controllers can remove their finalizers.
func TestTheSpecOfADeletingNetworkStays(t *testing.T) {
	contract.Shows(t, "C8")
	g, c := setup(t, "leaving")
	g.Expect(install.Policies(t.Context(), c)).To(Succeed())
	n := &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{
			Name: "n", Namespace: "leaving", Finalizers: []string{extensionsv1alpha1.NetworkFinalizer},
			Annotations: map[string]string{extensionsv1alpha1.ConfirmationAnnotation: "true"},
		},
		Spec: networkSpec{
			Type: "calico", PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16",
		},
	}
	g.Expect(c.Create(t.Context(), n)).To(Succeed())
	edited := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"providerConfig":{"backend":"none"}}}`))
	g.Expect(c.Patch(t.Context(), n, edited)).To(Succeed())
	g.Expect(c.Delete(t.Context(), n)).To(Succeed())
	other := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"providerConfig":{"backend":"bird"}}}`))
	// The API server enforces a new policy only after a while. The dry-runs wait for that.
	g.Eventually(func() error { return c.Patch(t.Context(), n.DeepCopy(), other, client.DryRunAll) }).WithTimeout(time.Minute).
		Should(And(Satisfy(apierrors.IsForbidden), MatchError(ContainSubstring("the Network is being deleted, and its spec stays as it is"))))
	g.Expect(c.Patch(t.Context(), n, other)).NotTo(Succeed())
	g.Expect(c.Patch(t.Context(), n, edited)).To(Succeed(), "a patch that changes nothing")
	g.Expect(c.Patch(t.Context(), n, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
	g.Eventually(func() error { return c.Get(t.Context(), client.ObjectKeyFromObject(n), n) }).WithTimeout(time.Minute).
		Should(Satisfy(apierrors.IsNotFound))
}

// The API server deletes a Network only if its user has confirmed the deletion.
func TestDeletingANetworkHasToBeConfirmed(t *testing.T) {
	contract.Shows(t, "C5")
	g, c := setup(t, "confirmed")
	g.Expect(install.Policies(t.Context(), c)).To(Succeed())
	network := func(name, annotation string) *extensionsv1alpha1.Network {
		n := &extensionsv1alpha1.Network{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "confirmed"},
			Spec: networkSpec{
				Type: "calico", PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16",
			},
		}
		if annotation != "" {
			n.Annotations = map[string]string{extensionsv1alpha1.ConfirmationAnnotation: annotation}
		}
		g.Expect(c.Create(t.Context(), n)).To(Succeed())
		return n
	}
	denied := And(Satisfy(apierrors.IsForbidden), MatchError(ContainSubstring(`set its annotation confirmation.gardener.cloud/deletion to "true" first`)))
	plain, invalid, confirmed := network("plain", ""), network("invalid", "yes"), network("confirmed", "true")
	// The API server enforces a new policy only after a while. The dry-runs wait for that.
	g.Eventually(func() error { return c.Delete(t.Context(), plain, client.DryRunAll) }).WithTimeout(time.Minute).Should(denied)
	g.Expect(c.Delete(t.Context(), plain)).To(denied)
	g.Expect(c.Delete(t.Context(), invalid)).To(denied)
	g.Expect(c.DeleteAllOf(t.Context(), plain, client.InNamespace("confirmed"))).To(denied)
	g.Expect(client.IgnoreNotFound(c.Delete(t.Context(), confirmed))).To(Succeed())

	g.Expect(c.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "confirmed"}})).To(Succeed())
	g.Eventually(func() error { return c.Get(t.Context(), client.ObjectKeyFromObject(plain), plain) }).
		WithTimeout(time.Minute).Should(Satisfy(apierrors.IsNotFound), "the policy must not block the deletion of the namespace")
}

// The API server deletes what the cluster runs on only if its user has confirmed the deletion.
func TestDeletingAnInfrastructureOrAControlPlaneHasToBeConfirmed(t *testing.T) {
	g, c := setup(t, "confirmed-infrastructure")
	g.Expect(install.Policies(t.Context(), c)).To(Succeed())
	meta := metav1.ObjectMeta{Name: "one", Namespace: "confirmed-infrastructure"}
	spec := extensionsv1alpha1.DefaultSpec{Type: "aws"}
	for _, test := range []struct {
		object client.Object
		denied string
	}{
		{&extensionsv1alpha1.Infrastructure{ObjectMeta: meta, Spec: extensionsv1alpha1.InfrastructureSpec{DefaultSpec: spec}},
			"deleting an Infrastructure takes the infrastructure from under the cluster; to confirm"},
		{&extensionsv1alpha1.ControlPlane{ObjectMeta: meta, Spec: extensionsv1alpha1.ControlPlaneSpec{DefaultSpec: spec}},
			"deleting a ControlPlane takes what the control plane of the cluster has of its infrastructure; to confirm"},
	} {
		g.Expect(c.Create(t.Context(), test.object)).To(Succeed())
		denied := And(Satisfy(apierrors.IsForbidden), MatchError(ContainSubstring(test.denied+`, set its annotation confirmation.gardener.cloud/deletion to "true" first`)))
		// The API server enforces a new policy only after a while. The dry-runs wait for that.
		g.Eventually(func() error { return c.Delete(t.Context(), test.object, client.DryRunAll) }).WithTimeout(time.Minute).Should(denied)
		g.Expect(c.Delete(t.Context(), test.object)).To(denied)
		g.Expect(c.Patch(t.Context(), test.object, client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"confirmation.gardener.cloud/deletion":"true"}}}`)))).To(Succeed())
		g.Expect(c.Delete(t.Context(), test.object)).To(Succeed())
	}
}
