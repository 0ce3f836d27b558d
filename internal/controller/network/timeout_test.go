// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/test/contract"
)

// An API server that does not answer holds a reconciliation up until the timeout, and the
// status says at what.
func TestAReconciliationEndsWithWhatHeldItUp(t *testing.T) {
	contract.Shows(t, "N33")
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		e.requests.Before(func(request *http.Request) error {
			if request.Method != http.MethodPost || !strings.HasSuffix(request.URL.Path, "/secrets") {
				return nil
			}
			<-request.Context().Done()
			return request.Context().Err()
		})
		n := e.network(asked)
		e.becomes(n, create, erroneous)
		e.Eventually(func() string { e.get(n); return n.Status.LastError.Description }).Should(And(
			HavePrefix("Error reconciling Network: not done within 3s: write the bundle example-config: write the bundle's Secret: "),
			HaveSuffix("context deadline exceeded")))
		e.requests.Before(nil)
		e.managedResource()
		e.applied()
		e.becomes(n, create, fine)
	}, func(o *network.Options) { o.Timeout = 3 * time.Second })
}

// A bundle that no resource manager applies is waited for as long as gardenlet waits, and the status
// says for what.
func TestABundleThatIsNotAppliedInTimeIsAnError(t *testing.T) {
	contract.Shows(t, "N33")
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	e := setup(t, inGardener, at(clock))
	n := e.network(asking("reconcile"))
	mr := e.managedResource()
	e.becomes(n, create, working)
	clock.SetTime(clock.Now().Add(3 * time.Minute))
	e.restart()
	e.becomes(n, create, erroneous)
	e.Expect(n.Status.LastError.Description).To(Equal(
		"Error reconciling Network: the ManagedResource example-config was not applied within 3m0s: no resource manager has begun to apply it"))
	e.Expect(n.Status.LastError.Codes).To(BeEmpty())
	e.stays(mr)
	e.applied()
	e.becomes(n, create, fine)
	e.Expect(n.Status.LastOperation.Type).To(Equal(corev1beta1.LastOperationTypeCreate))
}

// The time counts from the last change of what is awaited.
func TestABundleThatChangesIsAwaitedFromThenOn(t *testing.T) {
	contract.Shows(t, "N33")
	begin := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakePassiveClock(begin)
	e := setup(t, at(clock))
	n := e.network()
	e.managedResource()
	e.becomes(n, create, working)
	clock.SetTime(begin.Add(2*time.Minute + 59*time.Second))
	e.patch(n, withConfig(`{"backend":"none"}`))
	e.Eventually(e.written).Should(Equal("none"))
	e.Eventually(func() time.Time { e.get(n); return n.Status.LastOperation.LastUpdateTime.Time }).Should(BeTemporally("==", clock.Now()))
	clock.SetTime(begin.Add(5 * time.Minute))
	e.restart()
	e.stays(n)
	e.Expect(n.Status.LastOperation.State).To(Equal(working))
	clock.SetTime(begin.Add(6 * time.Minute))
	e.restart()
	e.becomes(n, create, erroneous)
}
