// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// Gardener's garbage collector selects by these names.
func TestSecretsAreNamedAsGardenersLibraryDoes(t *testing.T) {
	contract.Shows(t, "L5")
	g := NewWithT(t)
	b := &Bundle{Namespace: "shoot--dev--tin", Name: "string-config", Data: []byte("{}\n")}
	g.Expect(b.SecretName()).To(Equal("managedresource-string-config-601231c9"))
	mr := &resourcesv1alpha1.ManagedResource{}
	b.fill(mr)
	g.Expect(mr.Annotations).To(Equal(map[string]string{"reference.resources.gardener.cloud/secret-20942f1c": b.SecretName()}))
}

func TestEachContentHasItsOwnSecret(t *testing.T) {
	contract.Shows(t, "L1")
	rapid.Check(t, func(t *rapid.T) {
		one := &Bundle{Name: "x", Data: rapid.SliceOf(rapid.Byte()).Draw(t, "one")}
		two := &Bundle{Name: "x", Data: rapid.SliceOf(rapid.Byte()).Draw(t, "two")}
		if (string(one.Data) == string(two.Data)) != (one.SecretName() == two.SecretName()) {
			t.Fatalf("%q and %q are named %s and %s", one.Data, two.Data, one.SecretName(), two.SecretName())
		}
	})
}

// What others have put on a ManagedResource stays, but for references to Secrets
// of former bundles.
func TestShapingLeavesToOthersWhatIsTheirs(t *testing.T) {
	contract.Shows(t, "L4", "L8")
	g := NewWithT(t)
	mr := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{"theirs": "1"},
		Annotations: map[string]string{
			"theirs": "2", resourcesv1alpha1.ReferencePrefix + "secret-00000000": "former",
		},
	}}
	b := &Bundle{Name: "x", Origin: "string", Data: []byte("{}")}
	g.Expect(b.Written(mr)).To(BeFalse())
	b.fill(mr)
	g.Expect(b.Written(mr)).To(BeTrue())
	g.Expect(mr.Labels).To(Equal(map[string]string{"theirs": "1", "origin": "string"}))
	g.Expect(mr.Annotations).To(HaveKeyWithValue("theirs", "2"))
	g.Expect(mr.Annotations).To(ContainElement(b.SecretName()))
	g.Expect(mr.Annotations).NotTo(ContainElement("former"))
}
