// SPDX-License-Identifier: Apache-2.0

package heartbeat_test

import (
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/controller/heartbeat"
	"github.com/trellis-network/trellis/test/contract"
	"github.com/trellis-network/trellis/test/harness"
)

var landscape = harness.Seed()

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

func TestTheLeaseIsRenewed(t *testing.T) {
	contract.Shows(t, "N32")
	g := NewWithT(t)
	api := landscape.Seed(t)
	namespace := api.Namespace(t, "operator-")

	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := clocktesting.NewFakeClock(began)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	beats := &heartbeat.Heartbeat{Client: api, Namespace: namespace, ExtensionName: "networking-test", Interval: 30 * time.Second, Clock: clock}
	g.Expect(beats.NeedLeaderElection()).To(BeTrue())
	go func() { ended <- beats.Start(ctx) }()

	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "gardener-extension-heartbeat", Namespace: namespace}}
	renewed := func() (time.Time, error) {
		err := api.Get(t.Context(), client.ObjectKeyFromObject(lease), lease)
		if err != nil || lease.Spec.RenewTime == nil {
			return time.Time{}, err
		}
		return lease.Spec.RenewTime.UTC(), nil
	}
	g.Eventually(renewed).Should(Equal(began))
	g.Expect(*lease.Spec.HolderIdentity).To(Equal("networking-test"))
	g.Expect(*lease.Spec.LeaseDurationSeconds).To(BeEquivalentTo(30))

	g.Expect(clock.HasWaiters()).To(BeTrue())
	clock.Step(30 * time.Second)
	g.Eventually(renewed).Should(Equal(began.Add(30 * time.Second)))

	g.Expect(api.Delete(t.Context(), lease)).To(Succeed())
	clock.Step(30 * time.Second)
	g.Eventually(renewed).Should(Equal(began.Add(time.Minute)), "a deleted Lease is made again")
	stop()
	g.Expect(<-ended).To(Succeed())
}
