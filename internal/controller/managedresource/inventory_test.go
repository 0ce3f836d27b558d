// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/test/contract"
)

// Which ManagedResource a changed object wakes.
func TestEventsWakeTheirManagedResource(t *testing.T) {
	for _, c := range []struct {
		clusterID, origin string
		woken             string
	}{
		{"", "ns/network", "ns/network"},
		{"seed", "seed:ns/network", "ns/network"},
		{"seed:with:colons", "seed:with:colons:ns/network", "ns/network"},
		{"seed", "other:ns/network", ""},
		{"seed", "ns/network", ""},
		{"", "seed:ns/network", ""},
		{"", "elsewhere/network", ""},
		{"", "nothing", ""},
		{"", "", ""},
	} {
		t.Run(c.clusterID+" meets "+c.origin, func(t *testing.T) {
			g := NewWithT(t)
			requests, _ := (&Options{ClusterID: c.clusterID}).requestsForEvent(shootclient.Event{Namespace: "ns", Origin: c.origin})
			if c.woken == "" {
				g.Expect(requests).To(BeEmpty())
				return
			}
			g.Expect(requests).To(HaveLen(1))
			g.Expect(requests[0].String()).To(Equal(c.woken))
		})
	}
}

// Where the seed has a name, the origin tells it, and drift is still undone.
func TestTheOriginTellsTheCluster(t *testing.T) {
	contract.Shows(t, "R15")
	e := newEnv(t)
	cm := e.configMap("one", "key", "value")
	e.state("network", cm)
	e.operator(func(o *Options) { o.ClusterID = "landscape:seed" })
	e.becomesGood("network")
	e.Expect(live(e, cm).Annotations).To(HaveKeyWithValue(resourcesv1alpha1.Origin, "landscape:seed:"+e.namespace+"/network"))
	change(e, cm, func(cm *corev1.ConfigMap) { cm.Data["key"] = "theirs" })
	e.Eventually(func() string { return live(e, cm).Data["key"] }).Should(Equal("value"))
}
