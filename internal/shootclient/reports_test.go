// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
)

// reportOf returns the report of a node about six peers of long names, of which some fail.
func reportOf(node, version string, failing int) *connectivityv1alpha1.NodeConnectivity {
	made := &connectivityv1alpha1.NodeConnectivity{ObjectMeta: metav1.ObjectMeta{Name: node, ResourceVersion: version}}
	for _, family := range []connectivityv1alpha1.IPFamily{connectivityv1alpha1.IPv4, connectivityv1alpha1.IPv6} {
		for _, check := range []connectivityv1alpha1.CheckType{connectivityv1alpha1.CheckPods, connectivityv1alpha1.CheckNodes} {
			results := make([]connectivityv1alpha1.Result, 6)
			for i := range results {
				results[i] = connectivityv1alpha1.Result{Name: fmt.Sprintf("shoot--project--name-worker-z1-5b6c9d7f8-%d", i), Address: "10.1.1.1:8099", Attempts: 30}
				if i < failing {
					results[i].ConsecutiveFailures, results[i].Error = 2, "no answer within 3s"
				}
			}
			made.Report.Checks = append(made.Report.Checks, connectivityv1alpha1.Check{Family: family, Type: check, Results: results})
		}
	}
	return made
}

// counting is a Shoot that can only count.
func counting(clock *testclock.FakePassiveClock) *Shoot {
	return &Shoot{options: &Options{Clock: clock}, stop: func() {}, connection: &connection{cached: &atomic.Int64{}}}
}

func TestReportsAtTheirPaceCountOnce(t *testing.T) {
	const nodes = 1000
	g, clock := NewWithT(t), testclock.NewFakePassiveClock(time.Now())
	s := counting(clock)
	round := func(version, failing int) {
		for i := range nodes {
			_, err := s.admit(reportOf(fmt.Sprintf("worker-%d", i), fmt.Sprintf("%03d", version), failing))
			g.Expect(err).NotTo(HaveOccurred())
		}
	}
	round(0, 0)
	first := s.connection.cached.Load()
	g.Expect(first).To(BeNumerically("<", 4<<20))
	round(0, 0)
	g.Expect(s.connection.cached.Load()).To(Equal(first), "a list that an informer repeats")
	for minute := range 60 {
		clock.SetTime(clock.Now().Add(10 * time.Second))
		round(minute+1, 0)
	}
	g.Expect(s.connection.cached.Load()).To(Equal(first), "ten minutes of as many reports as probes may send")
	clock.SetTime(clock.Now().Add(10 * time.Second))
	round(100, 6)
	failing := s.connection.cached.Load()
	g.Expect(failing).To(And(BeNumerically(">", first), BeNumerically("<", first+1<<20)), "errors take memory")
	clock.SetTime(clock.Now().Add(10 * time.Second))
	round(101, 0)
	clock.SetTime(clock.Now().Add(10 * time.Second))
	round(102, 6)
	g.Expect(s.connection.cached.Load()).To(Equal(failing), "which was counted")
}

func TestReportsOutOfPaceCountEachTime(t *testing.T) {
	g, clock := NewWithT(t), testclock.NewFakePassiveClock(time.Now())
	s := counting(clock)
	var err error
	version := 0
	for ; err == nil && version < 100_000; version++ {
		clock.SetTime(clock.Now().Add(time.Second))
		_, err = s.admit(reportOf("worker", fmt.Sprint(version), 0))
	}
	g.Expect(err).To(MatchError(errTooLarge))
	g.Expect(version).To(BeNumerically("<", 20_000))
}

// The API server of a hostile shoot does not check the CRD.
func TestAReportIsCutAsItsDefinitionStates(t *testing.T) {
	g := NewWithT(t)
	long := reportOf("worker", "1", 6)
	for range 100 {
		long.Report.Checks = append(long.Report.Checks, long.Report.Checks[0])
	}
	many := make([]connectivityv1alpha1.Result, 1000)
	for i := range many {
		many[i] = connectivityv1alpha1.Result{Name: strings.Repeat("n", 1000), Error: strings.Repeat("e", 1000), ConsecutiveFailures: 2}
	}
	long.Report.Checks[0].Results = many
	strip(long)
	g.Expect(long.Report.Checks).To(HaveLen(10))
	g.Expect(long.Report.Checks[0].Results).To(HaveLen(8))
	g.Expect(len(long.Report.Checks[0].Results[0].Name)).To(Equal(253))
	g.Expect(len(long.Report.Checks[0].Results[0].Error)).To(BeNumerically("<=", 128))
	g.Expect(sizeOfReport(long)).To(BeNumerically("<", 16<<10))
}

func TestAFailureKeepsSinceWhenAndAfterHowManySuccesses(t *testing.T) {
	g := NewWithT(t)
	failing := connectivityv1alpha1.Result{
		Name: "two", Attempts: 12, Failures: 3, ConsecutiveFailures: 2, Error: "no answer within 3s",
		FailingSince: new(metav1.Unix(2, 0)), LastSuccess: new(metav1.Unix(1, 0)),
	}
	report := reportOf("one", "1", 0)
	report.Report.Checks[0].Results = []connectivityv1alpha1.Result{failing}
	report.Report.Checks[0].Results[0].Address = "10.1.1.1:8099"
	strip(report)
	g.Expect(report.Report.Checks[0].Results).To(ConsistOf(failing))
}

func TestOnlyNewsOfAProbeAreAnEvent(t *testing.T) {
	g := NewWithT(t)
	fine, one, two := reportOf("worker", "1", 0), reportOf("worker", "2", 1), reportOf("worker", "3", 2)
	g.Expect(isNews(fine, fine)).To(BeFalse())
	g.Expect(isNews(one, one)).To(BeFalse())
	g.Expect(isNews(fine, one)).To(BeTrue())
	g.Expect(isNews(one, two)).To(BeTrue())
	g.Expect(isNews(two, fine)).To(BeTrue())
	longer := reportOf("worker", "4", 1)
	longer.Report.Checks[0].Results[0].ConsecutiveFailures = 20
	g.Expect(isNews(one, longer)).To(BeFalse())
	moved := reportOf("worker", "5", 1)
	moved.Report.Checks[0].Results[0].Name = "another"
	g.Expect(isNews(one, moved)).To(BeTrue())
	fewer := reportOf("worker", "6", 0)
	fewer.Report.Checks = fewer.Report.Checks[:3]
	g.Expect(isNews(fine, fewer)).To(BeTrue())
	later := func(by time.Duration) *connectivityv1alpha1.NodeConnectivity {
		report := reportOf("worker", "7", 0)
		report.Report.Time = metav1.NewTime(fine.Report.Time.Add(by))
		return report
	}
	g.Expect(isNews(fine, later(time.Minute))).To(BeFalse())
	g.Expect(isNews(fine, later(2*time.Minute))).To(BeTrue(), "its node was cut off, or has started again")
}

func TestANodeThatIsAboutToGoShowsIt(t *testing.T) {
	for name, node := range map[string]corev1.Node{
		"deleted":                      {ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: new(metav1.Now())}},
		"cordoned":                     {Spec: corev1.NodeSpec{Unschedulable: true}},
		"chosen by the autoscaler":     {Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "other"}, {Key: DeletionTaint, Value: "1"}}}},
		"ended by its machine's owner": {Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: "Terminating", Status: corev1.ConditionTrue}}}},
	} {
		g := NewWithT(t)
		strip(&node)
		g.Expect(IsLeaving(&node)).To(BeTrue(), name)
	}
	stays := corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "node.kubernetes.io/not-ready"}}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: "Ready", Status: corev1.ConditionFalse}}}}
	strip(&stays)
	NewWithT(t).Expect(IsLeaving(&stays)).To(BeFalse())
}
