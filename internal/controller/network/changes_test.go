// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"testing"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What interrupts traffic is announced, with the field and the reason; what does
// not is not.
func TestADisruptiveChangeIsAnnounced(t *testing.T) {
	e := setup(t)
	announced := func() (notes []string) {
		list := &eventsv1.EventList{}
		e.Expect(e.client.List(e.t.Context(), list, client.InNamespace(e.namespace))).To(Succeed())
		for i := range list.Items {
			if list.Items[i].Reason == "DisruptiveChange" {
				notes = append(notes, list.Items[i].Note)
			}
		}
		return notes
	}
	n := e.finished(withConfig(`{"knots":"three","backend":"wool"}`))
	e.patch(n, withConfig(`{"knots":"four","backend":"hemp"}`))
	e.Eventually(announced).Should(ConsistOf("knots: the string is cut"))
}
