// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// eventsAbout returns the type, reason and note of each event about a ManagedResource.
func (e *env) eventsAbout(name string) []string {
	list := &eventsv1.EventList{}
	e.Expect(e.seed.List(e.ctx, list, client.InNamespace(e.namespace))).To(Succeed())
	var found []string
	for _, event := range list.Items {
		if event.Regarding.Kind == "ManagedResource" && event.Regarding.Name == name {
			found = append(found, event.Type+" "+event.Reason+": "+strings.ReplaceAll(event.Note, e.namespace, "NAMESPACE"))
		}
	}
	return found
}

func TestWhatIsAppliedOrFailsIsAnEvent(t *testing.T) {
	e := newEnv(t)
	d := e.deployment("d", nil)
	e.state("network", d)
	stop := e.operator()
	e.becomesGood("network")
	applied := HavePrefix("Normal ApplySucceeded: ")
	e.Eventually(func() []string { return e.eventsAbout("network") }).Should(ConsistOf(applied))

	d.Spec.Selector.MatchLabels["more"], d.Spec.Template.Labels["more"] = "x", "x"
	e.state("network", d)
	failed := And(HavePrefix(`Warning ApplyFailed: error during apply of object "apps/v1/Deployment/NAMESPACE/d": `), HaveSuffix("field is immutable"))
	e.Eventually(func() []string { return e.eventsAbout("network") }).Should(ConsistOf(applied, failed))

	d.Annotations = map[string]string{resourcesv1alpha1.DeleteOnInvalidUpdate: "true"}
	e.state("network", d)
	e.becomesGood("network")
	all := func() []string { return e.eventsAbout("network") }
	recreated := And(HavePrefix("Warning ObjectRecreated: "), HaveSuffix("it was deleted and will be created again"))
	e.Eventually(all).Should(And(ContainElement(failed), ContainElement(recreated), ContainElement(applied)))

	stop()
	before := all()
	e.operator()
	e.Consistently(all).Should(Equal(before), "a restart is no event")
}
