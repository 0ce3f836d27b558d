// SPDX-License-Identifier: Apache-2.0

package networkstatus_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
)

// another is a second source. Tests choose what it answers.
type another struct {
	answer    atomic.Pointer[func(source.Input) (source.Report, error)]
	asked     atomic.Int32
	forgotten atomic.Pointer[types.NamespacedName]
}

func (a *another) Report(_ context.Context, in source.Input) (source.Report, error) {
	a.asked.Add(1)
	return (*a.answer.Load())(in)
}

func (a *another) Forget(network types.NamespacedName) { a.forgotten.Store(&network) }

func (a *another) answers(f func(source.Input) (source.Report, error)) { a.answer.Store(&f) }

func (a *another) reports(r source.Report) {
	a.answers(func(source.Input) (source.Report, error) { return r, nil })
}

func (a *another) registration() source.Registration {
	return source.Registration{Name: "another", Source: a, Conditions: []string{"ExampleHealthy"}, ProviderStatus: []string{"example", "other"}}
}

func exampleReport(status corev1beta1.ConditionStatus, count int) source.Report {
	return source.Report{
		Conditions:     []corev1beta1.Condition{{Type: "ExampleHealthy", Status: status, Reason: "Observed", Message: "as observed"}},
		ProviderStatus: map[string]any{"example": map[string]int{"count": count}},
	}
}

// statesExample waits until the second source's part of the status is this.
func (e *env) statesExample(n *extensionsv1alpha1.Network, status corev1beta1.ConditionStatus, providerStatus string) {
	e.t.Helper()
	e.Eventually(func(g Gomega) {
		g.Expect(e.seed.Get(context.Background(), types.NamespacedName{Namespace: n.Namespace, Name: n.Name}, n)).To(Succeed())
		g.Expect(condition.Value(n.Status.Conditions, "ExampleHealthy").Status).To(Equal(status))
		g.Expect(string(n.Status.ProviderStatus.Raw)).To(MatchJSON(providerStatus))
	}).Should(Succeed())
}

func TestTheReportsOfAllSourcesAreWrittenAtOnce(t *testing.T) {
	second := &another{}
	second.reports(exampleReport(corev1beta1.ConditionTrue, 1))
	e := setup(t, often, second.registration())
	d := e.daemonSet("agent", plain)
	e.Eventually(func() int32 { e.shoot.Read(t, d); return d.Status.NumberAvailable }).Should(BeNumerically("==", 2))
	n := e.network()
	foreign := corev1beta1.Condition{Type: "ControlPlaneHealthy", Status: corev1beta1.ConditionTrue, Reason: "Fine", Message: "fine",
		LastTransitionTime: metav1.NewTime(noon), LastUpdateTime: metav1.NewTime(noon)}
	e.patchStatus(n, func(n *extensionsv1alpha1.Network) {
		n.Status.Conditions = []corev1beta1.Condition{foreign}
		n.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"config":{"controller":3}}`)}
	})
	e.requests.Forget()
	e.keep(n, e.component("agent", "DaemonSet", "agent"))
	e.statesExample(n, corev1beta1.ConditionTrue, `{"config":{"controller":3},"components":{"agent":true},"example":{"count":1}}`)
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
	e.Expect(e.aboutNetworks()).To(HaveLen(1))
	e.Expect(condition.Value(n.Status.Conditions, "ControlPlaneHealthy").Message).To(Equal("fine"))

	asked := second.asked.Load()
	e.requests.Forget()
	e.stays(n)
	e.Expect(e.aboutNetworks()).To(BeEmpty())
	e.Expect(second.asked.Load()).To(BeNumerically(">", asked), "the source is asked every period")

	e.clock.SetTime(noon.Add(time.Minute))
	second.reports(source.Report{ProviderStatus: map[string]any{"other": "none"}})
	e.statesExample(n, "", `{"config":{"controller":3},"components":{"agent":true},"other":"none"}`)
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
	e.Expect(n.Status.Conditions).To(HaveLen(2), "a condition that is not reported any more is removed")
	e.Expect(condition.Value(n.Status.Conditions, "ControlPlaneHealthy").Message).To(Equal("fine"))
	e.Expect(second.forgotten.Load()).To(BeNil())

	e.Expect(e.seed.Delete(t.Context(), n)).To(Succeed())
	e.Eventually(second.forgotten.Load).Should(HaveValue(Equal(types.NamespacedName{Namespace: n.Namespace, Name: n.Name})))
}

// A source that fails loses nothing that it has stated, and hides nothing of another.
func TestASourceThatFailsIsIsolated(t *testing.T) {
	for name, fails := range map[string]func(source.Input) (source.Report, error){
		"an error": func(source.Input) (source.Report, error) { return source.Report{}, errors.New("no") },
		"a panic":  func(in source.Input) (source.Report, error) { panic("oh") },
		"not its own": func(source.Input) (source.Report, error) {
			r := exampleReport(corev1beta1.ConditionTrue, 2)
			r.ProviderStatus = map[string]any{"components": map[string]bool{"agent": true}}
			return r, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			second := &another{}
			second.reports(exampleReport(corev1beta1.ConditionFalse, 1))
			e := setup(t, often, second.registration())
			d := e.daemonSet("agent", plain)
			n := e.network(e.component("agent", "DaemonSet", "agent"))
			e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
			e.statesExample(n, corev1beta1.ConditionFalse, `{"components":{"agent":true},"example":{"count":1}}`)

			second.answers(fails)
			e.Expect(e.shoot.Delete(t.Context(), d)).To(Succeed())
			e.becomes(n, corev1beta1.ConditionProgressing, "HealthCheckProgressing", "does not exist")
			e.statesExample(n, corev1beta1.ConditionFalse, `{"components":{"agent":false},"example":{"count":1}}`)

			second.reports(exampleReport(corev1beta1.ConditionTrue, 3))
			e.statesExample(n, corev1beta1.ConditionTrue, `{"components":{"agent":false},"example":{"count":3}}`)
		})
	}
}

// The back-off of a source that fails grows, and the others still report when they want to.
func TestASourceThatFailsDoesNotDelayTheOthers(t *testing.T) {
	failing, punctual := &another{}, &another{}
	failing.answers(func(source.Input) (source.Report, error) { return source.Report{}, errors.New("no") })
	punctual.reports(source.Report{RequeueAfter: 10 * time.Millisecond})
	e := setup(t, never, failing.registration(), source.Registration{Name: "punctual", Source: punctual})
	e.network(e.component("agent", "DaemonSet", "agent"))
	e.Eventually(punctual.asked.Load).Should(BeNumerically(">", 50), "with the back-off alone that takes hours")
}

// Two operators beside each other would write the same conditions.
func TestNothingIsReportedOfANetworkOfAnotherOperator(t *testing.T) {
	e := setup(t, often)
	e.networkType = ofAnother
	n := e.network(e.component("agent", "DaemonSet", "agent"))
	e.stays(n)
	e.Expect(n.Status.Conditions).To(BeEmpty())
}

// A shoot that answers slowly does not occupy a worker for ever.
func TestTheTimeOfAReportIsLimited(t *testing.T) {
	timed := &timedSource{until: make(chan time.Time, 1)}
	e := setup(t, often, source.Registration{Name: "timed", Source: timed})
	e.network(e.component("agent", "DaemonSet", "agent"))
	var until time.Time
	e.Eventually(timed.until).Should(Receive(&until))
	e.Expect(until).To(BeTemporally("~", time.Now(), 2*time.Minute))
}

// timedSource notes until when its report may take.
type timedSource struct{ until chan time.Time }

func (s *timedSource) Report(ctx context.Context, _ source.Input) (source.Report, error) {
	until, _ := ctx.Deadline()
	select {
	case s.until <- until:
	default:
	}
	return source.Report{}, nil
}

func (*timedSource) Forget(types.NamespacedName) {}
