// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"

	. "github.com/onsi/gomega"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// The operator applies the other documents, and deletes nothing: the broken document may
// be the object that seems to be missing.
func TestOneBrokenDocument(t *testing.T) {
	contract.Shows(t, "R2")
	e := newEnv(t)
	one, two := e.configMap("one"), e.configMap("two")
	e.state("network", one)
	e.operator()
	e.becomesGood("network")

	e.stateData("network", map[string][]byte{"a": append([]byte("{\"kind\":\n---\n"), e.encode(two)...)})
	e.Eventually(e.conditions("network")).Should(And(
		HaveKeyWithValue(resourcesv1alpha1.ResourcesApplied, "False DecodingFailed"), Not(HaveKey("outdated"))))
	e.Expect(e.exists(one)()).To(BeTrue())
	e.Expect(e.exists(two)()).To(BeTrue())
	e.Expect(e.get("network").Status.Resources).To(HaveLen(2))

	e.state("network", two)
	e.becomesGood("network")
	e.Expect(e.exists(one)()).To(BeFalse())
}

// The operator does nothing while a Secret is missing.
func TestMissingSecret(t *testing.T) {
	contract.Shows(t, "R4")
	e := newEnv(t)
	one := e.configMap("one")
	e.state("network", one)
	e.operator()
	e.becomesGood("network")

	e.edit("network", func(mr *resourcesv1alpha1.ManagedResource) { mr.Spec.SecretRefs[0].Name = "missing" })
	e.Eventually(e.conditions("network")).Should(HaveKeyWithValue(resourcesv1alpha1.ResourcesApplied, "False CannotReadSecret"))
	e.Expect(e.message("network", resourcesv1alpha1.ResourcesApplied)()).To(ContainSubstring(`cannot read Secret missing`))
	e.Expect(e.exists(one)()).To(BeTrue())
	e.state("network", one)
	e.becomesGood("network")
}
