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
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "calico"}, PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16",
		},
	}
	g.Expect(c.Create(t.Context(), n)).To(Succeed())
	edited := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"providerConfig":{"backend":"none"}}}`))
	g.Expect(c.Patch(t.Context(), n, edited)).To(Succeed())
	g.Expect(c.Delete(t.Context(), n)).To(Succeed())
	other := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"providerConfig":{"backend":"bird"}}}`))
	// The API server acts by a new policy only after a while; a dry-run tells when.
	g.Eventually(func() error { return c.Patch(t.Context(), n.DeepCopy(), other, client.DryRunAll) }).WithTimeout(time.Minute).
		Should(And(Satisfy(apierrors.IsForbidden), MatchError(ContainSubstring("the Network is being deleted, and its spec stays as it is"))))
	g.Expect(c.Patch(t.Context(), n, other)).NotTo(Succeed())
	g.Expect(c.Patch(t.Context(), n, edited)).To(Succeed(), "that is what it states already")
	g.Expect(c.Patch(t.Context(), n, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
	g.Eventually(func() error { return c.Get(t.Context(), client.ObjectKeyFromObject(n), n) }).WithTimeout(time.Minute).
		Should(Satisfy(apierrors.IsNotFound))
}

// A Network is deleted only after its user has confirmed that.
func TestDeletingANetworkHasToBeConfirmed(t *testing.T) {
	contract.Shows(t, "C5")
	g, c := setup(t, "precious")
	g.Expect(install.Policies(t.Context(), c)).To(Succeed())
	network := func(name, confirmed string) *extensionsv1alpha1.Network {
		n := &extensionsv1alpha1.Network{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "precious"},
			Spec: networkSpec{
				DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "calico"}, PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16",
			},
		}
		if confirmed != "" {
			n.Annotations = map[string]string{extensionsv1alpha1.ConfirmationAnnotation: confirmed}
		}
		g.Expect(c.Create(t.Context(), n)).To(Succeed())
		return n
	}
	denied := And(Satisfy(apierrors.IsForbidden), MatchError(ContainSubstring(`set its annotation confirmation.gardener.cloud/deletion to "true" first`)))
	plain, doubtful, sure := network("plain", ""), network("doubtful", "yes"), network("sure", "true")
	// The API server acts by a new policy only after a while; a dry-run tells when.
	g.Eventually(func() error { return c.Delete(t.Context(), plain, client.DryRunAll) }).WithTimeout(time.Minute).Should(denied)
	g.Expect(c.Delete(t.Context(), plain)).To(denied)
	g.Expect(c.Delete(t.Context(), doubtful)).To(denied)
	g.Expect(c.DeleteAllOf(t.Context(), plain, client.InNamespace("precious"))).To(denied)
	g.Expect(client.IgnoreNotFound(c.Delete(t.Context(), sure))).To(Succeed())

	g.Expect(c.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "precious"}})).To(Succeed())
	g.Eventually(func() error { return c.Get(t.Context(), client.ObjectKeyFromObject(plain), plain) }).
		WithTimeout(time.Minute).Should(Satisfy(apierrors.IsNotFound), "the namespace's deletion is not held up")
}
