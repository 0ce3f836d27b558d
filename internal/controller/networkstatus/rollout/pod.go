// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/internal/times"
)

// pod is what a roll-out needs to know of one pod of its DaemonSet.
type pod struct {
	// node is the node that it runs on, or was created for.
	node string
	// current reports whether it is of the latest revision.
	current bool
	// ready reports whether it is ready and not being deleted; available, whether it has
	// also been ready for the DaemonSet's minReadySeconds.
	ready, available bool
	created          time.Time
	// changed is when it became available, stopped being so, or started to be deleted.
	changed time.Time
	// unrelated reports whether it had run for a long time before it changed. Running
	// pods fail and recover, which is neither progress of a roll-out nor its fault.
	unrelated bool
}

// podOf reads a pod of a DaemonSet whose latest revision has this hash.
func podOf(object *corev1.Pod, revision string, minReady time.Duration, now time.Time) pod {
	p := pod{
		node:    cmp.Or(object.Spec.NodeName, plannedNode(object), "that pod "+object.Name+" waits for"),
		current: object.Labels[appsv1.ControllerRevisionHashLabelKey] == revision,
		created: object.CreationTimestamp.Time,
	}
	p.changed = p.created
	isReady := func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady }
	if i := slices.IndexFunc(object.Status.Conditions, isReady); i >= 0 {
		condition := &object.Status.Conditions[i]
		p.ready = condition.Status == corev1.ConditionTrue
		if at := condition.LastTransitionTime.Time; !at.After(now) { // a node's clock may be wrong
			p.changed = times.Later(p.changed, at)
		}
	}
	if p.ready {
		p.changed = p.changed.Add(minReady)
		p.available = !p.changed.After(now)
	}
	if end := object.DeletionTimestamp; end != nil {
		// The API server stores when the grace period ends, not when it starts.
		p.available, p.ready = false, false
		p.changed = end.Add(-gracePeriod(object))
	}
	p.unrelated = p.changed.Sub(startTime(object)) > stallThreshold+minReady
	return p
}

// blocks reports whether the pod keeps the DaemonSet controller from replacing others.
func (p *pod) blocks() bool { return !p.available && (p.current || !p.ready) }

// blocksSince returns since when it does.
func (p *pod) blocksSince() time.Time {
	if p.current && !p.unrelated {
		return p.created
	}
	return p.changed
}

// startTime returns when a pod could start to become ready: when the kubelet accepted
// it, or when its last container started, since images may take long to arrive. The
// start of a container that was restarted means nothing.
func startTime(object *corev1.Pod) time.Time {
	accepted := object.CreationTimestamp.Time
	if object.Status.StartTime != nil {
		accepted = times.Later(accepted, object.Status.StartTime.Time)
	}
	last := accepted
	for i := range object.Status.ContainerStatuses {
		status := &object.Status.ContainerStatuses[i]
		if status.RestartCount > 0 {
			return accepted
		}
		if status.State.Running != nil {
			last = times.Later(last, status.State.Running.StartedAt.Time)
		}
	}
	return last
}

func gracePeriod(object *corev1.Pod) time.Duration {
	if object.DeletionGracePeriodSeconds == nil {
		return 0
	}
	return time.Duration(*object.DeletionGracePeriodSeconds) * time.Second
}

// plannedNode returns the node for which the DaemonSet controller created a pod that is
// not scheduled yet.
func plannedNode(object *corev1.Pod) string {
	if object.Spec.Affinity == nil || object.Spec.Affinity.NodeAffinity == nil {
		return ""
	}
	required := object.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
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
