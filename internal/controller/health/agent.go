// SPDX-License-Identifier: Apache-2.0

package health

import (
	"cmp"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// agent is what a roll-out's judgement needs of one pod of a DaemonSet.
type agent struct {
	// node is the node that it is on, or made for.
	node string
	// current says that it is of the latest revision.
	current bool
	// available says that it has been ready for as long as the DaemonSet demands, and
	// is not on its way out; ready, that it is ready at least.
	available, ready bool
	made             time.Time
	// changed is when it became available, or ceased to be or to be going to.
	changed time.Time
	// relapsed says that it had had time to settle before it changed: such are the ups
	// and downs of a running pod, and a roll-out has no part in them.
	relapsed bool
}

// agentOf looks at a pod of a DaemonSet whose latest revision has this hash.
func agentOf(pod *corev1.Pod, revision string, minReady time.Duration, now time.Time) agent {
	a := agent{
		node:    cmp.Or(pod.Spec.NodeName, nodeWanted(pod), "that pod "+pod.Name+" waits for"),
		current: pod.Labels[appsv1.ControllerRevisionHashLabelKey] == revision,
		made:    pod.CreationTimestamp.Time,
	}
	a.changed = a.made
	if ready := podCondition(pod, corev1.PodReady); ready != nil {
		a.ready = ready.Status == corev1.ConditionTrue
		if at := ready.LastTransitionTime.Time; !at.After(now) { // a node's clock may be wrong
			a.changed = later(a.changed, at)
		}
	}
	if a.ready {
		a.changed = a.changed.Add(minReady)
		a.available = !a.changed.After(now)
	}
	if gone := pod.DeletionTimestamp; gone != nil {
		// The API server notes the end of the time that the pod has, not its begin.
		a.available, a.ready = false, false
		a.changed = gone.Add(-time.Duration(graceOf(pod)) * time.Second)
	}
	a.relapsed = a.changed.Sub(started(pod)) > rolloutPatience+minReady
	return a
}

// absent says that a pod keeps others from being replaced.
func (a *agent) absent() bool { return !a.available && !(a.ready && !a.current) }

// absentSince is since when it does.
func (a *agent) absentSince() time.Time {
	if a.current && !a.relapsed {
		return a.made
	}
	return a.changed
}

// started is when a pod could begin to get ready: when its kubelet took it, or when its
// last container started, for images may be long in coming. A container that was
// started again tells nothing of that.
func started(pod *corev1.Pod) time.Time {
	at := pod.CreationTimestamp.Time
	if pod.Status.StartTime != nil {
		at = later(at, pod.Status.StartTime.Time)
	}
	last := at
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		if status.RestartCount > 0 {
			return at
		}
		if status.State.Running != nil {
			last = later(last, status.State.Running.StartedAt.Time)
		}
	}
	return last
}

func graceOf(pod *corev1.Pod) int64 {
	if pod.DeletionGracePeriodSeconds == nil {
		return 0
	}
	return *pod.DeletionGracePeriodSeconds
}

// nodeWanted is the node that the DaemonSet's controller has made a pod for, which is
// not on it yet.
func nodeWanted(pod *corev1.Pod) string {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return ""
	}
	required := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		return ""
	}
	for _, term := range required.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}
