// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var observedAt = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func ago(minutes int) metav1.Time {
	return metav1.NewTime(observedAt.Add(-time.Duration(minutes) * time.Minute))
}

// podOn is a pod of the latest revision that was made some minutes ago, and is being
// started.
func podOn(node string, made int, changes ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "agent-" + node, CreationTimestamp: ago(made),
			Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: "new"}},
		Spec: corev1.PodSpec{NodeName: node},
	}
	for _, change := range changes {
		change(&pod)
	}
	return pod
}

func outdated(pod *corev1.Pod) { pod.Labels[appsv1.ControllerRevisionHashLabelKey] = "old" }

func readiness(status corev1.ConditionStatus, minutes int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: ago(minutes)}}
	}
}

func ready(minutes int) func(*corev1.Pod)   { return readiness(corev1.ConditionTrue, minutes) }
func unready(minutes int) func(*corev1.Pod) { return readiness(corev1.ConditionFalse, minutes) }

func container(restarts int32, started int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			RestartCount: restarts, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: ago(started)}}}}
	}
}

func going(minutes int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		// The API server notes the end of the time that the pod has, not its begin.
		pod.DeletionTimestamp = ptr.To(metav1.NewTime(ago(minutes).Add(30 * time.Second)))
		pod.DeletionGracePeriodSeconds = ptr.To(int64(30))
	}
}

func wantedOn(node string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.NodeName = ""
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Values: []string{node}}}}},
		}}}
	}
}

// rolloutSince is a roll-out that began some minutes ago, in a cluster whose nodes were
// made some minutes ago.
func rolloutSince(began int, nodes map[string]int, pods ...corev1.Pod) *Rollout {
	r := &Rollout{revision: "new", started: ago(began).Time, desired: len(pods)}
	r.nodes = func() (map[string]time.Time, error) {
		made := map[string]time.Time{}
		for node, minutes := range nodes {
			made[node] = ago(minutes).Time
		}
		return made, nil
	}
	r.Add(pods, observedAt)
	return r
}

func TestNodesThatHoldUpARollOutAreNamed(t *testing.T) {
	old := map[string]int{"a": 90, "b": 90, "c": 90}
	var many []corev1.Pod
	for i := range 7 {
		many = append(many, podOn(fmt.Sprint("n", i), 11, unready(11)))
	}
	for name, test := range map[string]struct {
		roll *Rollout
		want string
	}{
		"no pods": {rolloutSince(60, old), ""},
		"one pod is not ready, others wait": {rolloutSince(60, old,
			podOn("a", 11, unready(11)), podOn("b", 80, outdated, ready(79))), stalled + " because of node a"},
		"the last pod is not ready": {rolloutSince(60, old,
			podOn("a", 11, unready(11)), podOn("b", 15, ready(12))), stalled + " because of node a"},
		"the last pods are not ready": {rolloutSince(11, old,
			podOn("b", 11, unready(11)), podOn("a", 11, unready(11))), stalled + " because of nodes a, b"},
		"the last pod was made a while ago": {rolloutSince(60, old,
			podOn("a", 9, unready(9)), podOn("b", 15, ready(12))), ""},
		"many are not": {rolloutSince(60, old, many...), stalled + " because of nodes n0, n1, n2, n3, n4 and 2 more"},
		"it began a while ago": {rolloutSince(9, old,
			podOn("a", 80, outdated, unready(70)), podOn("b", 80, outdated, ready(79))), ""},
		"one got ready just now": {rolloutSince(60, old,
			podOn("a", 40, unready(40)), podOn("b", 3, ready(1)), podOn("c", 80, outdated, ready(79))), ""},
		"an outdated one got ready just now": {rolloutSince(60, old,
			podOn("a", 40, unready(40)), podOn("b", 80, outdated, ready(1))), stalled + " because of node a"},
		"one is made again and again": {rolloutSince(60, old,
			podOn("a", 1), podOn("b", 80, outdated, ready(79))), stalled + " because of node a"},
		"one does not go": {rolloutSince(60, old,
			podOn("a", 80, outdated, ready(79), going(11)), podOn("b", 80, outdated, ready(79))), stalled + " because of node a"},
		"one cannot be scheduled": {rolloutSince(60, old, podOn("", 20, wantedOn("full"))), stalled + " because of node full"},
		"pods are not replaced": {rolloutSince(60, old,
			podOn("a", 80, outdated, ready(79))), stalled + ", although all pods are ready: the DaemonSet controller does not replace them"},
		"a pod of which little is known": {rolloutSince(60, old,
			corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "agent-x"}}), stalled + " because of node that pod agent-x waits for"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stall, _, err := test.roll.Stall(time.Time{}, observedAt)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(stall).To(Equal(test.want))
		})
	}
}

func TestNodesThatJoinAreNoProgress(t *testing.T) {
	nodes := map[string]int{"a": 90, "b": 90, "new1": 14, "new2": 3, "new3": 1}
	stuck, waits := podOn("a", 50, unready(50)), podOn("b", 80, outdated, ready(79))
	joins := []corev1.Pod{podOn("new1", 14, ready(13)), podOn("new2", 3, ready(1)), podOn("new3", 1, unready(1))}
	for name, test := range map[string]struct {
		roll *Rollout
		want string
	}{
		"while others wait":         {rolloutSince(60, nodes, append(joins, stuck, waits)...), stalled + " because of node a"},
		"at the last pod":           {rolloutSince(60, nodes, append(joins, stuck)...), stalled + " because of node a"},
		"and lack nothing for long": {rolloutSince(60, nodes, joins...), ""},
		"but for one whose pod does not get ready": {rolloutSince(60, nodes,
			podOn("new1", 14, unready(14)), podOn("new3", 1, ready(1))), stalled + " because of node new1"},
		"but for many that came together, as when a cluster wakes up": {rolloutSince(600, nil,
			podOn("x", 12, unready(12)), podOn("y", 12, ready(2)), podOn("z", 11, ready(1))), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stall, _, err := test.roll.Stall(time.Time{}, observedAt)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(stall).To(Equal(test.want))
		})
	}
	t.Run("if it is known which nodes joined", func(t *testing.T) {
		g := NewWithT(t)
		roll := rolloutSince(60, nodes, append(joins, stuck, waits)...)
		roll.nodes = func() (map[string]time.Time, error) { return nil, errors.New("no") }
		_, _, err := roll.Stall(time.Time{}, observedAt)
		g.Expect(err).To(MatchError("no"))
	})
}

// A pod that has run for long and fails is reported as failed. It is no part of a
// roll-out, nor is it progress when the pod becomes ready again.
func TestUpsAndDownsOfRunningPodsAreNoRollOut(t *testing.T) {
	old := map[string]int{"a": 90, "b": 90, "c": 90}
	waits := podOn("b", 80, outdated, ready(79))
	for name, test := range map[string]struct {
		roll *Rollout
		want string
	}{
		"a pod fails":                   {rolloutSince(60, old, podOn("a", 50, container(0, 49), unready(20))), ""},
		"a pod that started late fails": {rolloutSince(60, old, podOn("a", 50, container(0, 16), unready(15))), stalled + " because of node a"},
		"a pod recovers while another waits": {rolloutSince(60, old, waits,
			podOn("a", 50, container(3, 3), ready(2))), stalled + ", although all pods are ready: the DaemonSet controller does not replace them"},
		"a pod fails while another waits": {rolloutSince(60, old, waits, podOn("a", 50, container(3, 3), unready(20)),
			podOn("c", 50, container(3, 3), unready(2))), stalled + " because of node a"},
		"a pod that started late got ready": {rolloutSince(60, old, waits, podOn("a", 50, container(0, 3), ready(2))), ""},
		"a node's clock is ahead":           {rolloutSince(60, old, waits, podOn("a", 40, ready(-30)), podOn("c", 30, unready(-20))), stalled + " because of node c"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stall, _, err := test.roll.Stall(time.Time{}, observedAt)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(stall).To(Equal(test.want))
		})
	}
}

func TestARollOutMayWaitForPodsThatCannotBeMade(t *testing.T) {
	there := podOn("a", 50, ready(49))
	for name, test := range map[string]struct {
		nodes   map[string]int
		refused int
		want    string
	}{
		"for long":                {map[string]int{"a": 90, "b": 90}, 20, stalled + " because of node b"},
		"on one of many nodes":    {map[string]int{"a": 90, "b": 90, "windows": 90}, 20, stalled},
		"since a while":           {map[string]int{"a": 90, "b": 90}, 9, ""},
		"or comes in a moment":    {map[string]int{"a": 90, "b": 90}, 0, ""},
		"where a node is planned": {map[string]int{"a": 90}, 20, stalled},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			roll := rolloutSince(60, test.nodes, there)
			roll.desired = 2
			if test.refused > 0 {
				roll.refusedSince = ago(test.refused).Time
			}
			stall, _, err := roll.Stall(time.Time{}, observedAt)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(stall).To(Equal(test.want))
		})
	}
}

func TestAPodMustBeReadyForAsLongAsItsDaemonSetDemands(t *testing.T) {
	for name, test := range map[string]struct {
		ready int
		since int
		want  string
	}{
		"not yet":     {3, 50, stalled + " because of node a"},
		"just now":    {6, 1, ""},
		"a while ago": {16, 11, stalled + " because of node a"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			roll := rolloutSince(60, map[string]int{"a": 90, "b": 90})
			roll.minReady = 5 * time.Minute
			roll.Add([]corev1.Pod{podOn("a", 50, unready(50)), podOn("b", test.ready+1, ready(test.ready))}, observedAt)
			stall, since, err := roll.Stall(time.Time{}, observedAt)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(stall).To(Equal(test.want))
			g.Expect(since).To(Equal(ago(test.since).Time))
		})
	}
}
