// SPDX-License-Identifier: Apache-2.0

package networkstatus_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/budget"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
)

// What is observed of a cluster that alternates is written ten times at once, and then once in
// ten seconds. Its user has the first reports of each generation at once.
func TestAClusterThatAlternatesIsWrittenOnceInTenSeconds(t *testing.T) {
	second := &another{}
	reports := func() source.Report {
		status := corev1beta1.ConditionTrue
		if second.asked.Load()%2 == 0 {
			status = corev1beta1.ConditionFalse
		}
		return exampleReport(status, int(second.asked.Load()))
	}
	second.answers(func(source.Input) (source.Report, error) { return reports(), nil })
	e := setup(t, often, second.registration())
	n := e.network()
	e.requests.Forget()
	e.keep(n, e.component("agent", "DaemonSet", "agent"))
	e.Eventually(second.asked.Load).Should(BeNumerically(">", 3*budget.Reports))
	e.Expect(e.aboutNetworks()).To(HaveLen(budget.Reports), "the clock stands still")

	e.clock.SetTime(noon.Add(budget.Period))
	asked := second.asked.Load()
	e.Eventually(second.asked.Load).Should(BeNumerically(">", asked+3))
	e.Expect(e.aboutNetworks()).To(HaveLen(budget.Reports + 1))

	second.reports(exampleReport(corev1beta1.ConditionTrue, 0))
	e.clock.SetTime(noon.Add(2 * budget.Period))
	e.statesExample(n, corev1beta1.ConditionTrue, `{"components":{"agent":false},"example":{"count":0}}`)
}
