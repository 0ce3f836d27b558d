// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A user deletes the definition of a kind, and with it all objects of the kind. An event names
// what was lost, and that it is back.
func TestADefinitionThatComesBackIsAnEvent(t *testing.T) {
	e := newEnv(t)
	crd, widget := e.widgets("restored")
	e.state("network", crd, widget)
	stop := e.operator()
	e.becomesGood("network")
	all := func() []string { return e.eventsAbout("network") }
	e.Expect(all()).NotTo(ContainElement(ContainSubstring(eventRestored)))

	e.Expect(e.shoot.Delete(e.ctx, live(e, crd))).To(Succeed())
	told := HavePrefix("Warning DefinitionRestored: CustomResourceDefinition widgets.restored.example.com was deleted in the cluster, " +
		"and all objects of its kind with it. It is back, ")
	e.Eventually(all).Should(ContainElement(told))
	e.Expect(e.exists(widget)()).To(BeTrue())
	e.becomesGood("network")

	stop()
	e.operator()
	e.runs(1)
	e.becomesGood("network")
	count := 0
	for _, each := range all() {
		if ok, _ := told.Match(each); ok {
			count++
		}
	}
	e.Expect(count).To(Equal(1), "a restart is no loss")
}
