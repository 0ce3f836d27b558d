// SPDX-License-Identifier: Apache-2.0

package health

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// eventsLookedAt bounds what is read to explain why a workload has no pods.
const eventsLookedAt = 50

// explain says why a workload is not healthy: what ails its worst pod, or why it
// has none, and what holds up its roll-out. It is the zero ailment when that cannot be
// found out; the numbers must do then.
func (e *examination) explain(ctx context.Context, seen inspection) ailment {
	if seen.selector == nil {
		return ailment{}
	}
	selector, err := metav1.LabelSelectorAsSelector(seen.selector)
	if err != nil {
		return ailment{}
	}
	pods := client.MatchingLabelsSelector{Selector: selector}
	last, recent := e.recent(seen)
	if recent && last.large {
		return last.found
	}
	var roll *rollout
	if !recent {
		roll = e.rollout(ctx, seen, pods)
	}
	found, err := e.worst(ctx, seen, pods, roll)
	if err != nil {
		return found
	}
	held := last.held
	if !recent {
		held = e.judge(ctx, seen, roll, found)
	}
	return found.heldUp(held)
}

// worst is what ails the worst pod, or why there is none. It takes note of all pods for
// a roll-out; without one it reads no more than it must.
func (e *examination) worst(ctx context.Context, seen inspection, pods client.MatchingLabelsSelector, roll *rollout) (ailment, error) {
	var found ailment
	err := eachPage(ctx, e.live, func() *corev1.PodList { return &corev1.PodList{} }, func(page *corev1.PodList) bool {
		if a := worst(page.Items); a.gravity > found.gravity {
			found = a
		}
		roll.add(page.Items, e.now)
		return roll != nil || found.gravity == 0
	}, client.InNamespace(seen.component.Namespace), pods)
	if err != nil || found.gravity > 0 {
		return found, err
	}
	if refusal := cmp.Or(seen.refusal, refusedPods(ctx, e.live, seen).Message); refusal != "" {
		found = ailment{stuck, "pods cannot be created: " + oneLine(refusal)}
	}
	return found, nil
}

// refusedPods is the latest complaint of a workload's controller that it could
// not create pods; the zero event if there is none.
func refusedPods(ctx context.Context, live client.Reader, seen inspection) corev1.Event {
	events := &corev1.EventList{}
	err := live.List(ctx, events, client.InNamespace(seen.component.Namespace), client.Limit(eventsLookedAt), client.MatchingFields{
		"involvedObject.kind": seen.component.Kind, "involvedObject.name": seen.component.Workload, "reason": "FailedCreate",
	})
	if err != nil || len(events.Items) == 0 {
		return corev1.Event{}
	}
	return slices.MaxFunc(events.Items, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
}

// ailment is what is wrong with a pod; the graver, the more it tells.
type ailment struct {
	gravity int
	text    string
}

// heldUp puts what holds up a roll-out, if anything does, before what ails a pod.
func (a ailment) heldUp(held string) ailment {
	if held == "" {
		return a
	}
	return ailment{stuck, joined("; ", held, a.text)}
}

const (
	notReady = iota + 1
	starting
	unschedulable
	failed
	stuck
)

// worst describes the pod with the gravest ailment; of equal ones the first by
// name, so that the description does not change without need.
func worst(pods []corev1.Pod) ailment {
	var found ailment
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for i := range pods {
		pod := &pods[i]
		if a := diagnose(pod); a.gravity > found.gravity {
			found = ailment{a.gravity, fmt.Sprintf("pod %s%s: %s", pod.Name, onNode(pod), oneLine(a.text))}
		}
	}
	return found
}

func onNode(pod *corev1.Pod) string {
	if pod.Spec.NodeName == "" {
		return ""
	}
	return " on node " + pod.Spec.NodeName
}

// diagnose says what is wrong with a pod; the zero ailment means nothing.
func diagnose(pod *corev1.Pod) ailment {
	if !pod.DeletionTimestamp.IsZero() {
		return ailment{}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return ailment{failed, sentence("has failed", pod.Status.Reason, pod.Status.Message)}
	}
	if scheduled := podCondition(pod, corev1.PodScheduled); scheduled != nil && scheduled.Status == corev1.ConditionFalse {
		return ailment{unschedulable, sentence("cannot be scheduled", scheduled.Message)}
	}
	var found ailment
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if a := diagnoseContainer(&statuses[i]); a.gravity > found.gravity {
				found = a
			}
		}
	}
	if found.gravity > 0 {
		return found
	}
	ready := podCondition(pod, corev1.PodReady)
	switch {
	case ready != nil && ready.Status == corev1.ConditionTrue:
		return ailment{}
	case pod.Status.Phase == corev1.PodRunning:
		return ailment{notReady, "runs, but is not ready"}
	default:
		return ailment{starting, "is starting"}
	}
}

func podCondition(pod *corev1.Pod, conditionType corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == conditionType {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// diagnoseContainer knows the reasons with which the kubelet lets a container
// wait. Those of a container that is only being started are none of its ailments.
func diagnoseContainer(status *corev1.ContainerStatus) ailment {
	waits := status.State.Waiting
	if waits == nil || waits.Reason == "" || waits.Reason == "ContainerCreating" || waits.Reason == "PodInitializing" {
		return ailment{}
	}
	switch waits.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable":
		return ailment{stuck, sentence("cannot pull the image "+status.Image, waits.Reason, waits.Message)}
	case "CrashLoopBackOff":
		text := fmt.Sprintf("container %s crashes again and again", status.Name)
		if last := status.LastTerminationState.Terminated; last != nil {
			text = sentence(fmt.Sprintf("%s (exit status %d)", text, last.ExitCode), last.Reason, last.Message)
		}
		return ailment{stuck, text}
	default:
		return ailment{stuck, sentence(fmt.Sprintf("container %s waits", status.Name), waits.Reason, waits.Message)}
	}
}

// sentence puts the parts that say something behind each other.
func sentence(parts ...string) string { return joined(": ", parts...) }

func joined(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), separator)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
