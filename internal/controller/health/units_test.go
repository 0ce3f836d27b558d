// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// In tests, no cluster is so small that all of it is on one page.
func init() { pageSize = 1 }

func TestDaemonSetsAreJudgedByTheirNumbers(t *testing.T) {
	for name, test := range map[string]struct {
		generation int64
		status     appsv1.DaemonSetStatus
		healthy    bool
		summary    string
	}{
		"all there":    {1, appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberAvailable: 3}, true, "3 of 3 pods"},
		"no nodes":     {1, appsv1.DaemonSetStatus{ObservedGeneration: 1}, true, "no nodes"},
		"not looked":   {2, appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberAvailable: 3}, false, "the latest change of the DaemonSet kube-system/cans has not been acted upon yet"},
		"one missing":  {1, appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberAvailable: 2}, false, "2 of 3 pods of the DaemonSet kube-system/cans are available"},
		"one outdated": {1, appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 3, UpdatedNumberScheduled: 2, NumberAvailable: 3}, false, "2 of 3 pods of the DaemonSet kube-system/cans are up to date"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			seen := inspectDaemonSet(&appsv1.DaemonSet{
				ObjectMeta: metav1.ObjectMeta{Name: "cans", Namespace: "kube-system", Generation: test.generation}, Status: test.status})
			g.Expect(seen.healthy).To(Equal(test.healthy))
			g.Expect(seen.summary).To(Equal(test.summary))
		})
	}
}

func TestDeploymentsAreJudgedByTheirNumbers(t *testing.T) {
	for name, test := range map[string]struct {
		replicas *int32
		status   appsv1.DeploymentStatus
		healthy  bool
	}{
		"all there":      {ptr.To[int32](2), appsv1.DeploymentStatus{UpdatedReplicas: 2, AvailableReplicas: 2}, true},
		"one by default": {nil, appsv1.DeploymentStatus{UpdatedReplicas: 1, AvailableReplicas: 1}, true},
		"none wanted":    {ptr.To[int32](0), appsv1.DeploymentStatus{}, true},
		"none there":     {nil, appsv1.DeploymentStatus{}, false},
		"one outdated":   {ptr.To[int32](2), appsv1.DeploymentStatus{UpdatedReplicas: 1, AvailableReplicas: 2}, false},
	} {
		t.Run(name, func(t *testing.T) {
			seen := inspectDeployment(&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: test.replicas}, Status: test.status})
			NewWithT(t).Expect(seen.healthy).To(Equal(test.healthy), seen.summary)
		})
	}
}

// ailing is a pod with one container in a state.
func ailing(name string, container corev1.ContainerStatus, conditions ...corev1.PodCondition) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: "n1"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: conditions, ContainerStatuses: []corev1.ContainerStatus{container}},
	}
}

func waits(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: "c", Image: "example.org/c:1",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func TestTheWorstPodIsDescribed(t *testing.T) {
	crashes := waits("CrashLoopBackOff", "back-off")
	crashes.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error"}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
	unscheduled := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "u"}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/2 nodes\nare available"}}}}
	evicted := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "e"}, Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "disk is full"}}
	for name, test := range map[string]struct {
		pods   []corev1.Pod
		wanted string
	}{
		"none":                  {nil, ""},
		"well":                  {[]corev1.Pod{ailing("a", corev1.ContainerStatus{}, ready)}, ""},
		"an image":              {[]corev1.Pod{ailing("a", waits("ErrImagePull", "not found"))}, "pod a on node n1: cannot pull the image example.org/c:1: ErrImagePull: not found"},
		"a crash":               {[]corev1.Pod{ailing("a", crashes)}, "pod a on node n1: container c crashes again and again (exit status 3): Error"},
		"a config":              {[]corev1.Pod{ailing("a", waits("CreateContainerConfigError", "no Secret"))}, "pod a on node n1: container c waits: CreateContainerConfigError: no Secret"},
		"being created":         {[]corev1.Pod{ailing("a", waits("ContainerCreating", ""))}, "pod a on node n1: runs, but is not ready"},
		"unschedulable":         {[]corev1.Pod{unscheduled}, "pod u: cannot be scheduled: 0/2 nodes are available"},
		"evicted":               {[]corev1.Pod{evicted}, "pod e: has failed: Evicted: disk is full"},
		"the worst of several":  {[]corev1.Pod{unscheduled, evicted, ailing("z", waits("ErrImagePull", ""))}, "pod z on node n1: cannot pull the image example.org/c:1: ErrImagePull"},
		"the first of the same": {[]corev1.Pod{ailing("b", waits("ErrImagePull", "")), ailing("a", waits("ErrImagePull", ""))}, "pod a on node n1: cannot pull the image example.org/c:1: ErrImagePull"},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(worst(test.pods).text).To(Equal(test.wanted)) })
	}
}

func TestTimesOfConditions(t *testing.T) {
	contract.Shows(t, "H4")
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }
	was := func(status corev1beta1.ConditionStatus, reason string, transition, update time.Duration) *corev1beta1.Condition {
		return &corev1beta1.Condition{Type: conditionType, Status: status, Reason: reason, Message: "old", LastTransitionTime: ago(transition), LastUpdateTime: ago(update)}
	}
	const period = 30 * time.Second
	for name, test := range map[string]struct {
		before             *corev1beta1.Condition
		seen               result
		status             corev1beta1.ConditionStatus
		transition, update time.Duration
		again              time.Duration
	}{
		"new":                      {nil, healthy, corev1beta1.ConditionTrue, 0, 0, period},
		"new and unhealthy":        {nil, unhealthy, corev1beta1.ConditionProgressing, 0, 0, period},
		"another message":          {was("True", reasonSuccessful, time.Hour, time.Hour), healthy, "True", time.Hour, 0, period},
		"another message, soon":    {was("True", reasonSuccessful, time.Hour, 4*time.Second), healthy, "True", time.Hour, 4 * time.Second, 6 * time.Second},
		"falls ill":                {was("True", reasonSuccessful, time.Hour, time.Hour), unhealthy, "Progressing", 0, 0, period},
		"is ill":                   {was("Progressing", reasonProgressing, 4*time.Minute, time.Minute), unhealthy, "Progressing", 4 * time.Minute, 0, period},
		"is ill, nearly too long":  {was("Progressing", reasonProgressing, 5*time.Minute-time.Second, time.Minute), unhealthy, "Progressing", 5*time.Minute - time.Second, 0, time.Second},
		"is ill for too long":      {was("Progressing", reasonProgressing, 5*time.Minute, time.Minute), unhealthy, "False", 0, 0, period},
		"stays ill":                {was("False", reasonUnsuccessful, time.Hour, time.Hour), unhealthy, "False", time.Hour, 0, period},
		"recovers":                 {was("False", reasonUnsuccessful, time.Hour, time.Hour), healthy, "True", 0, 0, period},
		"cannot be seen":           {was("True", reasonSuccessful, time.Hour, time.Hour), unknown, "Unknown", 0, 0, period},
		"is seen, and ill":         {was("Unknown", reasonCheckError, time.Minute, time.Minute), unhealthy, "Progressing", 0, 0, period},
		"is seen at last, and ill": {was("Unknown", reasonCheckError, 5*time.Minute, time.Minute), unhealthy, "False", 0, 0, period},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			n := &extensionsv1alpha1.Network{}
			if test.before != nil {
				n.Status.Conditions = []corev1beta1.Condition{*test.before}
			}
			r := &reconciler{options: Options{Period: period, ProgressingThreshold: 5 * time.Minute}}
			condition, again := r.next(n, sight{result: test.seen, message: "new"}, now)
			g.Expect(condition.Status).To(Equal(test.status))
			g.Expect(now.Sub(condition.LastTransitionTime.Time)).To(Equal(test.transition))
			g.Expect(now.Sub(condition.LastUpdateTime.Time)).To(Equal(test.update))
			g.Expect(again).To(Equal(test.again))
		})
	}
}

// A network that cannot be seen in between gets no more patience: what counts is when it
// was known to be healthy last.
func TestPatienceDoesNotBeginAnewWithEachGlimpse(t *testing.T) {
	g := NewWithT(t)
	begin := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	r := &reconciler{options: Options{Period: 30 * time.Second, ProgressingThreshold: 5 * time.Minute}}
	n := &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: "tin", Namespace: "shoot--dev--tin"}}
	for _, step := range []struct {
		after  time.Duration
		seen   result
		status corev1beta1.ConditionStatus
	}{
		{0, healthy, "True"},
		{1 * time.Minute, unhealthy, "Progressing"},
		{3 * time.Minute, unknown, "Unknown"},
		{5 * time.Minute, unhealthy, "Progressing"},
		{5*time.Minute + 59*time.Second, unknown, "Unknown"},
		{6 * time.Minute, unhealthy, "False"},
		{7 * time.Minute, unknown, "Unknown"},
		{8 * time.Minute, unhealthy, "False"},
		{9 * time.Minute, healthy, "True"},
		{10 * time.Minute, unknown, "Unknown"},
		{14 * time.Minute, unhealthy, "Progressing"},
		{15 * time.Minute, unhealthy, "False"},
		{16 * time.Minute, healthy, "True"},
		{17 * time.Minute, unhealthy, "Progressing"},
		{22*time.Minute - time.Second, unhealthy, "Progressing"},
	} {
		condition, _ := r.next(n, sight{result: step.seen, message: "as seen"}, begin.Add(step.after))
		g.Expect(condition.Status).To(Equal(step.status), step.after.String())
		n.Status.Conditions = []corev1beta1.Condition{condition}
	}
}

func TestMessagesAreShortAndWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		message := rapid.String().Draw(t, "message") + strings.Repeat("ä", rapid.IntRange(0, 400).Draw(t, "more"))
		short := shortened(message)
		if len(short) > messageLimit || strings.ToValidUTF8(short, "") != short {
			t.Fatalf("%q became %q", message, short)
		}
		if len(message) <= messageLimit && short != message {
			t.Fatalf("%q was cut without need", message)
		}
	})
}
