// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/test/harness"
)

// The limits that docs/security.md states are in force in the operator as its configuration sets
// them.
func TestTheOperatorSetsItsLimits(t *testing.T) {
	g := NewWithT(t)
	config, err := configv1alpha1.Load([]byte(`
shootClientConnection: {qps: 7, burst: 8, allowedAddresses: [127.0.0.0/8]}
controllers: {health: {syncPeriod: 1h}}
`))
	g.Expect(err).NotTo(HaveOccurred())
	lines := &harness.Lines{}
	o := Options{Config: config, Seed: &rest.Config{}, Log: lines.Logger()}
	g.Expect(o.complete()).To(Succeed())

	access := o.access(configv1alpha1.ModeStandalone)
	g.Expect(access.RefuseAddress(netip.MustParseAddr("169.254.169.254"))).To(BeTrue())
	g.Expect(access.RefuseAddress(netip.MustParseAddr("127.0.0.1"))).To(BeFalse(), "it is allowed")
	g.Expect(access.QPS).To(BeEquivalentTo(7))
	g.Expect(access.Burst).To(Equal(8))
	g.Expect(access.IdleTimeout).To(Equal(2*time.Hour), "each shoot is asked for once in a period")
	g.Expect(o.managerOptions().Controller.ReconciliationTimeout).To(Equal(4 * time.Minute))
	for range 100 {
		o.Log.Info("A shoot fails", "namespace", "shoot--dev--one")
	}
	g.Expect(len(lines.With("A shoot fails"))).To(BeNumerically("<", 10))
}
