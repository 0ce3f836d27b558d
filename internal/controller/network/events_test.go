// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// events returns the events about the Network, each as type, reason and note.
func (e *env) events() []string {
	list := &eventsv1.EventList{}
	e.Expect(e.client.List(e.t.Context(), list, client.InNamespace(e.namespace))).To(Succeed())
	var lines []string
	for i := range list.Items {
		lines = append(lines, list.Items[i].Type+" "+list.Items[i].Reason+": "+list.Items[i].Note)
	}
	return lines
}

// What interrupts traffic is announced, with the field and the reason. What does not
// interrupt it is not.
func TestADisruptiveChangeIsAnnounced(t *testing.T) {
	e := setup(t)
	n := e.finished(withConfig(`{"extras":"three","backend":"wool"}`))
	e.patch(n, withConfig(`{"extras":"four","backend":"hemp"}`))
	e.Eventually(e.events).Should(ContainElement("Warning DisruptiveChange: extras: the extras are replaced"))
	e.Expect(e.events()).NotTo(ContainElement(ContainSubstring("backend")))
}

func TestEachChangeOfStateIsALineAndEachEndOfAnOperationAnEvent(t *testing.T) {
	e := setup(t)
	n := e.finished()
	e.Eventually(e.events).Should(ConsistOf("Normal Reconciled: Successfully reconciled Network"))
	e.patch(n, withConfig(`{"backend":"unknown"}`))
	e.becomes(n, again, erroneous)
	e.Eventually(e.events).Should(ContainElement(HavePrefix(
		"Warning ReconcileError: Error reconciling Network: spec.providerConfig.backend: Unsupported value")))
	e.Expect(e.client.Delete(t.Context(), n)).To(Succeed())
	e.gone(n)
	e.Eventually(e.events).Should(ContainElement("Normal Deleted: Successfully deleted Network"))

	line := func(operation, state, message string) string {
		return `"msg"="Network changed state" "network"="` + e.namespace + `/example" "type"="example" "operation"="` + operation +
			`" "state"="` + state + `" "message"="` + message + `.*" "duration"=""`
	}
	e.Expect(e.log.With("Network changed state")).To(HaveExactElements(
		MatchRegexp(line("Create", "Processing", "Reconciling the Network")),
		MatchRegexp(line("Create", "Succeeded", "Successfully reconciled Network")),
		MatchRegexp(line("Reconcile", "Error", "Error reconciling Network: spec.providerConfig.backend")),
		MatchRegexp(line("Delete", "Processing", "Deleting the Network")),
		MatchRegexp(line("Delete", "Succeeded", "Successfully deleted Network")),
	))
}

// gardenlet asks all Networks of a seed each day. Only what a request changes is an event.
func TestARequestThatChangesNothingIsNoEvent(t *testing.T) {
	const reconciled = "Normal Reconciled: Successfully reconciled Network"
	e := setup(t, inGardener)
	n := e.finished(asking("reconcile"))
	e.Eventually(e.events).Should(HaveExactElements(reconciled))
	e.patch(n, asking("reconcile"))
	e.becomes(n, again, fine)
	mr := e.managedResource()
	before := mr.Generation
	e.patch(n, func(n *extensionsv1alpha1.Network) {
		withConfig(`{"backend":"none"}`)(n)
		asking("reconcile")(n)
	})
	e.Eventually(func() int64 { e.get(mr); return mr.Generation }).Should(BeNumerically(">", before))
	e.applied()
	e.Eventually(e.events).Should(ConsistOf(reconciled, reconciled, HavePrefix("Warning ConfigurationWarning")), "that of the creation, and those of the change")
	e.Expect(e.log.With("Network changed state")).To(ContainElement(ContainSubstring(`"operation"="Reconcile" "state"="Succeeded"`)), "log lines have all")
}

// What fails is tried again and again, and is announced once.
func TestADisruptiveChangeIsAnnouncedOnce(t *testing.T) {
	e := setup(t)
	n := e.finished(withConfig(`{"extras":"three"}`))
	var attempts atomic.Int32
	e.requests.Before(func(request *http.Request) error {
		if request.Method != http.MethodPost || !strings.HasSuffix(request.URL.Path, "/secrets") {
			return nil
		}
		attempts.Add(1)
		return errors.New("no Secrets today")
	})
	e.patch(n, withConfig(`{"extras":"four"}`))
	e.Eventually(attempts.Load).Should(BeNumerically(">", 2))
	list := &eventsv1.EventList{}
	e.Expect(e.client.List(t.Context(), list, client.InNamespace(e.namespace))).To(Succeed())
	announced := 0
	for i := range list.Items {
		if event := &list.Items[i]; event.Reason == "DisruptiveChange" {
			announced++
			e.Expect(event.Series).To(BeNil())
		}
	}
	e.Expect(announced).To(Equal(1))
}
