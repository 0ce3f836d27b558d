// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/trellis-network/trellis/internal/budget"
)

// A resource manager quotes the cluster, which may answer otherwise each time. The Network is
// told ten errors after the first one at once, and then one in ten seconds.
func TestErrorsThatAlternateAreToldOnceInTenSeconds(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	e := setup(t, inGardener, at(clock))
	n := e.network(asking("reconcile"))
	refused := 0
	refuse := func() string {
		refused++
		message := fmt.Sprintf("%s %d", refusal, refused)
		e.resourceManager("False", "ApplyFailed", message, clock.Now())
		return message
	}
	told := func() string {
		e.get(n)
		if n.Status.LastError == nil {
			return ""
		}
		return n.Status.LastError.Description
	}
	for range 1 + budget.Reports {
		e.Eventually(told).Should(HaveSuffix(refuse()))
	}
	for range 3 {
		refuse()
		e.stays(n)
	}
	e.Expect(told()).To(HaveSuffix(" %d", 1+budget.Reports))

	clock.SetTime(clock.Now().Add(budget.Period))
	e.Eventually(told).Should(HaveSuffix(refuse()))
}
