// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
	"github.com/trellis-network/trellis/test/harness"
)

func called(name string) func(*extensionsv1alpha1.Network) {
	return func(n *extensionsv1alpha1.Network) { n.Name = name }
}

func TestASecondNetworkIsAnErrorAndTheFirstIsNotDisturbed(t *testing.T) {
	contract.Shows(t, "N38")
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		first := e.finished(asked)
		mr := e.managedResource()
		e.requests.Forget()
		second := e.network(called("another"), asked, withConfig(`{"backend":"none","extras":"more"}`))
		e.becomes(second, create, erroneous)
		e.Expect(second.Status.LastError.Description).To(ContainSubstring(`the Network "example" is the one of this namespace`))
		e.Expect(second.Status.LastError.Codes).To(ConsistOf(corev1beta1.ErrorConfigurationProblem))
		e.Expect(second.Finalizers).To(BeEmpty())
		e.Eventually(func() map[string]string { e.get(second); return second.Annotations }).ShouldNot(HaveKey(extensionsv1alpha1.OperationAnnotation))
		e.restart()
		e.stays(mr)
		e.stays(first)
		e.Expect(e.requests.All("managedresources", "secrets", first.Name+"/status")).To(BeEmpty())

		e.Expect(e.client.Delete(t.Context(), first)).To(Succeed())
		e.gone(first)
		e.Eventually(func() string { return e.managedResource().Labels[extensionsv1alpha1.NetworkLabel] }).Should(Equal("another"))
		e.applied()
		e.becomes(second, create, fine)
		e.Expect(e.written()).To(Equal("none"))
	})
}

// One request creates both, in the same second.
func TestOfTwoNetworksThatAreCreatedTogetherOneIsRefused(t *testing.T) {
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		both := []*extensionsv1alpha1.Network{e.network(asked, withConfig(`{"backend":"none"}`)), e.network(called("another"), asked)}
		refused := func() (count int) {
			for _, n := range both {
				e.get(n)
				if last := n.Status.LastOperation; last != nil && last.State == erroneous {
					count++
				}
			}
			return count
		}
		e.Eventually(refused).Should(Equal(1))
		e.stays(e.managedResource())
		e.Expect(refused()).To(Equal(1))
		e.Expect(e.managedResource().Generation).To(BeEquivalentTo(1))
	})
}

// Another process goes by what belongs to whom, and not by names.
func TestTheNetworkThatOwnsTheManagedResourcesIsTheFirst(t *testing.T) {
	e := setup(t)
	e.stop()
	oldest := e.network(called("a"))
	owner := e.network(called("b"))
	e.another("{content: none}")
	harness.Change(t, e.client, e.managedResource(), func(mr *resourcesv1alpha1.ManagedResource) {
		mr.Labels = map[string]string{extensionsv1alpha1.NetworkLabel: "b"}
	})
	e.stop = e.start()
	e.becomes(oldest, create, erroneous)
	e.becomes(owner, create, working)
}

// gardenlet names the Network like the shoot.
func TestInALandscapeTheNetworkThatIsNamedLikeTheShootCounts(t *testing.T) {
	contract.Shows(t, "N38")
	e := setup(t, inGardener)
	stray := e.finished(called("stray"), asking("reconcile"))
	n := e.network(asking("reconcile"), withConfig(`{"backend":"none"}`))
	e.Eventually(func() string { return e.managedResource().Labels[extensionsv1alpha1.NetworkLabel] }).Should(Equal("example"))
	e.applied()
	e.becomes(n, create, fine)
	e.patch(stray, asking("reconcile"))
	e.becomes(stray, again, erroneous)
	mr := e.managedResource()
	e.Expect(e.client.Delete(t.Context(), stray)).To(Succeed())
	e.gone(stray)
	e.stays(mr)
	e.Expect(mr.DeletionTimestamp).To(BeNil(), "what belongs to the other Network stays")
}
