// SPDX-License-Identifier: Apache-2.0

package wave

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

const (
	system  = "SystemComponentsHealthy"
	traffic = extensionsv1alpha1.PodNetworkAvailable

	yes, no, unknown = corev1beta1.ConditionTrue, corev1beta1.ConditionFalse, corev1beta1.ConditionUnknown
	ended, begun     = corev1beta1.LastOperationStateSucceeded, corev1beta1.LastOperationStateProcessing
	failed           = corev1beta1.LastOperationStateError
)

type conditions map[string]corev1beta1.ConditionStatus

// statusAt is a status whose last operation and conditions are of the given times after noon.
func statusAt(state corev1beta1.LastOperationState, operated, turned time.Duration, are conditions) *extensionsv1alpha1.NetworkStatus {
	status := &extensionsv1alpha1.NetworkStatus{}
	status.LastOperation = &corev1beta1.LastOperation{State: state, LastUpdateTime: metav1.NewTime(noon.Add(operated))}
	for name, is := range are {
		status.Conditions = append(status.Conditions, corev1beta1.Condition{Type: name, Status: is, LastTransitionTime: metav1.NewTime(noon.Add(turned))})
	}
	return status
}

// Each Network was admitted at noon. MinSuccessTime is ten minutes, and ProgressDeadline an hour.
func TestTheHealthOfANetworkDecides(t *testing.T) {
	const m = time.Minute
	healthy := conditions{system: yes, traffic: yes}
	for name, test := range map[string]struct {
		before conditions
		status *extensionsv1alpha1.NetworkStatus
		at     time.Duration
		phase  Phase
		reason Reason
		left   time.Duration
	}{
		"it is not applied yet":                   {healthy, statusAt(begun, 0, -m, healthy), m, Progressing, Updating, 59 * m},
		"its success is an earlier one":           {healthy, statusAt(ended, -m, -m, healthy), m, Progressing, Updating, 59 * m},
		"its error is an earlier one":             {healthy, statusAt(failed, -m, -m, healthy), m, Progressing, Updating, 59 * m},
		"it cannot be applied":                    {healthy, statusAt(failed, m, -m, healthy), m, Failed, NotApplied, 0},
		"it is never applied":                     {healthy, statusAt(begun, 0, -m, healthy), 60 * m, Failed, NotApplied, 0},
		"it is healthy, but not for long":         {healthy, statusAt(ended, m, -m, healthy), 5 * m, Progressing, Updating, 6 * m},
		"it has been healthy for long":            {healthy, statusAt(ended, m, -m, healthy), 11 * m, Succeeded, "", 0},
		"it is healthy again, not for long":       {healthy, statusAt(ended, m, 4*m, healthy), 11 * m, Progressing, Updating, 3 * m},
		"its agents are replaced":                 {healthy, statusAt(ended, m, 2*m, conditions{system: corev1beta1.ConditionProgressing, traffic: yes}), 11 * m, Progressing, Updating, 49 * m},
		"its components fail":                     {healthy, statusAt(ended, m, 2*m, conditions{system: no, traffic: yes}), 3 * m, Failed, Unhealthy, 0},
		"its pods are not connected":              {healthy, statusAt(ended, m, 2*m, conditions{system: yes, traffic: no}), 3 * m, Failed, Unhealthy, 0},
		"it is not healthy again in time":         {healthy, statusAt(ended, m, 2*m, conditions{system: unknown, traffic: yes}), 60 * m, Failed, Unhealthy, 0},
		"it becomes healthy at the last moment":   {healthy, statusAt(ended, m, 59*m, healthy), 61 * m, Progressing, Updating, 8 * m},
		"it was unhealthy before":                 {conditions{system: no, traffic: yes}, statusAt(ended, m, -m, conditions{system: no, traffic: yes}), 11 * m, Progressing, Updating, 49 * m},
		"it was unhealthy before, and remains so": {conditions{system: no, traffic: yes}, statusAt(ended, m, -m, conditions{system: no, traffic: yes}), 60 * m, Succeeded, "", 0},
		"it was unhealthy before, and another condition drops": {conditions{system: no, traffic: yes},
			statusAt(ended, m, 2*m, conditions{system: no, traffic: no}), 3 * m, Failed, Unhealthy, 0},
		"it was unhealthy before, and is mended": {conditions{system: no}, statusAt(ended, m, 2*m, conditions{system: yes}), 12 * m, Succeeded, "", 0},
		"it is hibernated meanwhile":             {healthy, statusAt(ended, m, -m, conditions{system: yes}), 11 * m, Succeeded, "", 0},
		"nothing is observed":                    {nil, statusAt(ended, m, 0, nil), 11 * m, Succeeded, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := policy()
			begun := p.Begin(statusAt(ended, -time.Hour, -time.Hour, test.before), noon)
			judged, left := p.Judge(*begun, test.status, noon.Add(test.at))
			g.Expect(judged.Phase).To(Equal(test.phase))
			g.Expect(judged.Reason).To(Equal(test.reason))
			g.Expect(judged.Revision).To(Equal("new"))
			g.Expect(left).To(Equal(test.left))
		})
	}
}

// A user who writes an invalid config meanwhile has not shown that the update is bad.
func TestAnErrorAfterItWasAppliedIsNotTheUpdates(t *testing.T) {
	g := NewWithT(t)
	p, healthy := policy(), conditions{system: yes}
	record, _ := p.Judge(*p.Begin(statusAt(ended, 0, 0, healthy), noon), statusAt(ended, time.Minute, -time.Hour, healthy), noon.Add(2*time.Minute))
	record, left := p.Judge(record, statusAt(failed, 3*time.Minute, -time.Hour, healthy), noon.Add(4*time.Minute))
	g.Expect(record.Phase).To(Equal(Progressing))
	g.Expect(left).To(Equal(7 * time.Minute))
}

// A cluster that did not answer before the update does not answer after it. That is no reason to halt.
func TestAClusterThatWasBrokenBeforeIsNoFailure(t *testing.T) {
	g := NewWithT(t)
	p, before := policy(), statusAt(failed, -time.Hour, -time.Hour, nil)
	record, left := p.Judge(*p.Begin(before, noon), statusAt(failed, time.Minute, 0, nil), noon.Add(2*time.Minute))
	g.Expect(record.Phase).To(Equal(Progressing))
	g.Expect(left).To(Equal(58 * time.Minute))
	record, _ = p.Judge(record, statusAt(failed, time.Minute, 0, nil), noon.Add(time.Hour))
	g.Expect(record.Phase).To(Equal(Succeeded))

	record, _ = p.Judge(*p.Begin(before, noon), statusAt(ended, time.Minute, 0, conditions{system: yes}), noon.Add(11*time.Minute))
	g.Expect(record.Phase).To(Equal(Succeeded), "one that answers again")
}

// A roll-out that began while the clock was a year ahead goes on as if it had just begun.
func TestAClockThatIsSetBack(t *testing.T) {
	g := NewWithT(t)
	p, healthy := policy(), conditions{system: yes}
	ahead := noon.AddDate(1, 0, 0)
	status := statusAt(ended, ahead.Sub(noon), ahead.Sub(noon), healthy)
	record, left := p.Judge(*p.Begin(status, ahead), status, noon)
	g.Expect(record.Phase).To(Equal(Progressing))
	g.Expect(record.Since.Time).To(BeTemporally("==", noon))
	g.Expect(left).To(BeNumerically("<=", time.Hour))
	for at := noon; record.Is(Progressing) && at.Before(noon.Add(time.Hour)); {
		at = at.Add(left)
		record, left = p.Judge(record, status, at)
	}
	g.Expect(record.Phase).To(Equal(Succeeded))
}

// gardenlet asks for a reconciliation every hour: that does not begin the time anew.
func TestAFurtherReconciliationDelaysNothing(t *testing.T) {
	g := NewWithT(t)
	p := policy()
	healthy := conditions{system: yes}
	record, _ := p.Judge(*p.Begin(statusAt(ended, 0, 0, healthy), noon), statusAt(ended, time.Minute, -time.Hour, healthy), noon.Add(2*time.Minute))
	record, _ = p.Judge(record, statusAt(begun, 9*time.Minute, -time.Hour, healthy), noon.Add(9*time.Minute))
	record, _ = p.Judge(record, statusAt(ended, 10*time.Minute, -time.Hour, healthy), noon.Add(11*time.Minute))
	g.Expect(record.Phase).To(Equal(Succeeded))
}
