// SPDX-License-Identifier: Apache-2.0

package components

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/contract"
)

func TestDaemonSetsAreCheckedByTheirNumbers(t *testing.T) {
	for name, test := range map[string]struct {
		generation int64
		status     appsv1.DaemonSetStatus
		healthy    bool
		summary    string
	}{
		"all there":    {1, appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberAvailable: 3}, true, "3 of 3 pods"},
		"no nodes":     {1, appsv1.DaemonSetStatus{ObservedGeneration: 1}, true, "no nodes"},
		"not observed": {2, appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberAvailable: 3}, false, "the DaemonSet controller has not observed the latest change of the DaemonSet kube-system/agent yet"},
		"one missing":  {1, appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberAvailable: 2}, false, "2 of 3 pods of the DaemonSet kube-system/agent are available"},
		"one outdated": {1, appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 3, UpdatedNumberScheduled: 2, NumberAvailable: 3}, false, "2 of 3 pods of the DaemonSet kube-system/agent are up to date"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			seen := checkDaemonSet(&appsv1.DaemonSet{
				ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: "kube-system", Generation: test.generation}, Status: test.status})
			g.Expect(seen.healthy).To(Equal(test.healthy))
			g.Expect(seen.summary).To(Equal(test.summary))
		})
	}
}

// While the type of a network changes, agents run on as they are.
func TestPodsThatStayUntilTheyAreDeletedNeedNotBeUpToDate(t *testing.T) {
	agents := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: "kube-system"},
		Spec:       appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}},
		Status:     appsv1.DaemonSetStatus{DesiredNumberScheduled: 3, UpdatedNumberScheduled: 1, NumberAvailable: 3},
	}
	g := NewWithT(t)
	g.Expect(checkDaemonSet(agents).healthy).To(BeTrue())
	agents.Status.NumberAvailable = 2
	g.Expect(checkDaemonSet(agents).healthy).To(BeFalse())
}

func TestDeploymentsAreCheckedByTheirNumbers(t *testing.T) {
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
			seen := checkDeployment(&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: test.replicas}, Status: test.status})
			NewWithT(t).Expect(seen.healthy).To(Equal(test.healthy), seen.summary)
		})
	}
}

// podWith is a pod with one container in a state.
func podWith(name string, container corev1.ContainerStatus, conditions ...corev1.PodCondition) corev1.Pod {
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
		"ready":                 {[]corev1.Pod{podWith("a", corev1.ContainerStatus{}, ready)}, ""},
		"an image":              {[]corev1.Pod{podWith("a", waits("ErrImagePull", "not found"))}, "pod a on node n1: cannot pull the image example.org/c:1: ErrImagePull: not found"},
		"a crash":               {[]corev1.Pod{podWith("a", crashes)}, "pod a on node n1: container c crashes repeatedly (exit status 3): Error"},
		"a config":              {[]corev1.Pod{podWith("a", waits("CreateContainerConfigError", "no Secret"))}, "pod a on node n1: container c is waiting: CreateContainerConfigError: no Secret"},
		"being created":         {[]corev1.Pod{podWith("a", waits("ContainerCreating", ""))}, "pod a on node n1: runs, but is not ready"},
		"unschedulable":         {[]corev1.Pod{unscheduled}, "pod u: cannot be scheduled: 0/2 nodes are available"},
		"evicted":               {[]corev1.Pod{evicted}, "pod e: has failed: Evicted: disk is full"},
		"the worst of several":  {[]corev1.Pod{unscheduled, evicted, podWith("z", waits("ErrImagePull", ""))}, "pod z on node n1: cannot pull the image example.org/c:1: ErrImagePull"},
		"the first of the same": {[]corev1.Pod{podWith("b", waits("ErrImagePull", "")), podWith("a", waits("ErrImagePull", ""))}, "pod a on node n1: cannot pull the image example.org/c:1: ErrImagePull"},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(worstOf(test.pods).text).To(Equal(test.wanted)) })
	}
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// at is what the source gets of a Network with these conditions, some time after noon.
func at(after time.Duration, conditions ...corev1beta1.Condition) source.Input {
	return source.Input{Now: noon.Add(after), Network: &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: "shoot--dev--example"},
		Status:     extensionsv1alpha1.NetworkStatus{Conditions: conditions},
	}}
}

func TestAnUnhealthyNetworkFailsAfterTheThreshold(t *testing.T) {
	contract.Shows(t, "H4")
	was := func(status corev1beta1.ConditionStatus, transition time.Duration) []corev1beta1.Condition {
		return []corev1beta1.Condition{{Type: ConditionType, Status: status, Reason: "r", Message: "old", LastTransitionTime: metav1.NewTime(noon.Add(-transition))}}
	}
	const period = 30 * time.Second
	for name, test := range map[string]struct {
		before       []corev1beta1.Condition
		seen         result
		status       corev1beta1.ConditionStatus
		reason       string
		requeueAfter time.Duration
	}{
		"new":                                  {nil, healthy, "True", reasonSuccessful, period},
		"new and unhealthy":                    {nil, unhealthy, "Progressing", reasonProgressing, period},
		"stays healthy":                        {was("True", time.Hour), healthy, "True", reasonSuccessful, period},
		"becomes unhealthy":                    {was("True", time.Hour), unhealthy, "Progressing", reasonProgressing, period},
		"is unhealthy":                         {was("Progressing", 4*time.Minute), unhealthy, "Progressing", reasonProgressing, period},
		"is unhealthy, nearly too long":        {was("Progressing", 5*time.Minute-time.Second), unhealthy, "Progressing", reasonProgressing, time.Second},
		"is unhealthy for too long":            {was("Progressing", 5*time.Minute), unhealthy, "False", reasonUnsuccessful, period},
		"stays unhealthy":                      {was("False", time.Hour), unhealthy, "False", reasonUnsuccessful, period},
		"failed just now":                      {was("False", time.Second), unhealthy, "False", reasonUnsuccessful, period},
		"recovers":                             {was("False", time.Hour), healthy, "True", reasonSuccessful, period},
		"cannot be observed":                   {was("True", time.Hour), unknown, "Unknown", reasonCheckError, period},
		"is observed, and unhealthy":           {was("Unknown", time.Minute), unhealthy, "Progressing", reasonProgressing, period},
		"is observed at last, still unhealthy": {was("Unknown", 5*time.Minute), unhealthy, "False", reasonUnsuccessful, period},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := &Source{Period: period, ProgressingThreshold: 5 * time.Minute}
			condition, requeueAfter := s.condition(at(0, test.before...), observation{result: test.seen, message: "new"})
			g.Expect(condition.Status).To(Equal(test.status))
			g.Expect(condition.Reason).To(Equal(test.reason))
			g.Expect(condition.Message).To(Equal("new"))
			g.Expect(requeueAfter).To(Equal(test.requeueAfter))
		})
	}
}

// While a network cannot be observed, the threshold keeps running: what counts is when
// it was last known to be healthy.
func TestTheThresholdDoesNotStartAgainWithEachObservation(t *testing.T) {
	g := NewWithT(t)
	s := &Source{Period: 30 * time.Second, ProgressingThreshold: 5 * time.Minute}
	var conditions []corev1beta1.Condition
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
		in := at(step.after, conditions...)
		wanted, _ := s.condition(in, observation{result: step.seen, message: "as observed"})
		g.Expect(wanted.Status).To(Equal(step.status), step.after.String())
		conditions, _ = condition.Set(conditions, wanted, in.Now)
	}
	s.Forget(client.ObjectKeyFromObject(at(0).Network))
	g.Expect(s.unhealthySince.Clone()).To(BeEmpty())
}

// endlessPods is a shoot that lists its pods in pages without end.
type endlessPods struct {
	client.Reader
	pages int
}

func (e *endlessPods) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if e.pages++; e.pages > 2*maxPages {
		return errors.New("there is no end")
	}
	list.SetContinue("more")
	return nil
}

func TestPodsInPagesWithoutEndAreNotRead(t *testing.T) {
	g := NewWithT(t)
	shoot := &endlessPods{}
	_, err := (&explainer{live: shoot}).worstPod(t.Context(), workload{component: &plugin.Component{}}, client.MatchingLabelsSelector{}, nil)
	g.Expect(err).To(MatchError(ContainSubstring(fmt.Sprintf("in more than %d pages", maxPages))))
	g.Expect(shoot.pages).To(Equal(maxPages))
}
