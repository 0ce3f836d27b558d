// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"

	. "github.com/onsi/gomega"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/test/contract"
)

// Which ManagedResource a changed object triggers.
func TestEventsTriggerTheirManagedResource(t *testing.T) {
	for origin, triggered := range map[string]string{
		"ns/network":        "ns/network",
		"seed:ns/network":   "",
		"elsewhere/network": "",
		"nothing":           "",
		"":                  "",
	} {
		t.Run(origin, func(t *testing.T) {
			g := NewWithT(t)
			requests, _ := requestsForEvent(shootclient.Event{Namespace: "ns", Origin: origin})
			if triggered == "" {
				g.Expect(requests).To(BeEmpty())
				return
			}
			g.Expect(requests).To(HaveLen(1))
			g.Expect(requests[0].String()).To(Equal(triggered))
		})
	}
}

func TestTheOriginNamesTheManagedResource(t *testing.T) {
	contract.Shows(t, "R15")
	e := newEnv(t)
	cm := e.configMap("one")
	e.state("network", cm)
	e.operator()
	e.becomesGood("network")
	e.Expect(live(e, cm).Annotations).To(HaveKeyWithValue(resourcesv1alpha1.Origin, e.namespace+"/network"))
}
