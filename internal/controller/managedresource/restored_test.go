// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
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
	told := HavePrefix("Warning DefinitionRestored: These definitions were deleted in the cluster, and all objects of their kinds with them: " +
		"widgets.restored.example.com. They are back, ")
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

// All definitions that are lost at the same time are named, and each further loss is another event.
func TestEachLossOfDefinitionsIsAnEvent(t *testing.T) {
	e := newEnv(t)
	one, widget := e.widgets("restored-one")
	two, another := e.widgets("restored-two")
	e.state("network", one, widget, two, another)
	e.operator()
	e.becomesGood("network")
	named := func(name string) (events int) {
		for _, each := range e.eventsAbout("network") {
			if strings.Contains(each, eventRestored) && strings.Contains(each, name) {
				events++
			}
		}
		return events
	}
	for times := 1; times <= 2; times++ {
		for _, crd := range []client.Object{one, two} {
			e.Expect(e.shoot.Delete(e.ctx, live(e, crd))).To(Succeed())
		}
		e.Eventually(func() int { return named(one.Name) }).Should(Equal(times))
		e.Eventually(func() int { return named(two.Name) }).Should(Equal(times))
		e.Eventually(e.exists(widget)).Should(BeTrue())
		e.Eventually(e.exists(another)).Should(BeTrue())
		e.becomesGood("network")
	}
}

// Users of a cluster decide how often they delete a definition, and not how often that is written
// to the seed.
func TestLossesWithoutEndAreToldTenTimesAtOnce(t *testing.T) {
	g, recorder, clock := NewWithT(t), events.NewFakeRecorder(100), testclock.NewFakePassiveClock(time.Now())
	run := &run{mr: &resourcesv1alpha1.ManagedResource{}, observed: newObservations("uid"), clock: clock}
	crd := identity{apiextensionsv1.Kind("CustomResourceDefinition"), types.NamespacedName{Name: "widgets.example.com"}}
	for range 100 {
		run.observed.restored = append(run.observed.restored, crd)
		run.announceRestored(recorder)
	}
	g.Expect(recorder.Events).To(HaveLen(maxRecreations))
	clock.SetTime(clock.Now().Add(quietPeriod))
	run.announceRestored(recorder)
	g.Expect(recorder.Events).To(HaveLen(maxRecreations + 1))
	g.Expect(run.observed.restored).To(BeEmpty())
}
