// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// announces waits for an event of this type and reason about the Shoot whose note
// contains a text.
func (e *env) announces(typeAndReason, text string) {
	e.t.Helper()
	e.Eventually(func(g Gomega) {
		list := &eventsv1.EventList{}
		g.Expect(e.client.List(e.t.Context(), list, client.InNamespace(e.project))).To(Succeed())
		g.Expect(slices.ContainsFunc(list.Items, func(event eventsv1.Event) bool {
			return event.Regarding.Kind == "Shoot" && event.Type+" "+event.Reason == typeAndReason && strings.Contains(event.Note, text)
		})).To(BeTrue(), "%v", list.Items)
	}).Should(Succeed())
}

func TestEachChangeOfStateIsALineAndAnEvent(t *testing.T) {
	e := setup(t)
	s := e.shoot()
	e.becomes(s, create, failing)
	e.announces("Warning ReconcileError", "example.kubeconfig does not exist")
	e.kubeconfig(kubeconfig)
	e.applied()
	e.networkSays(succeeded, func(*extensionsv1alpha1.Network) {})
	e.becomes(s, create, succeeded)
	e.announces("Normal Reconciled", "Successfully reconciled Shoot")
	e.stays(s)
	e.Expect(e.client.Delete(t.Context(), s)).To(Succeed())
	e.gone(s)

	line := func(operation, state, message string) types.GomegaMatcher {
		return MatchRegexp(`"msg"="Shoot changed state" "shoot"="` + e.project + `/example" "network"="` + e.controlPlane + `/example" "type"="example" ` +
			`"operation"="` + operation + `" "state"="` + state + `" "message"="` + message + `" "duration"=""`)
	}
	changes := func() []string { return e.log.With("Shoot changed state") }
	e.Eventually(changes).Should(HaveLen(5))
	e.Expect(changes()).To(HaveExactElements(
		line("Create", "Error", "The Secret "+e.project+"/example.kubeconfig does not exist: create it with the shoot's kubeconfig under the key kubeconfig"),
		line("Create", "Processing", ".*the Network.*"),
		line("Create", "Succeeded", "Successfully reconciled Shoot"),
		line("Delete", "Processing", ".+"),
		line("Delete", "Succeeded", "Successfully deleted Shoot"),
	))
}
