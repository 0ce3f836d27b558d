// SPDX-License-Identifier: Apache-2.0

package components

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// problem is what is wrong with a pod. The zero problem means nothing is.
type problem struct {
	severity int
	text     string
}

// The severities of problems; a more severe one explains more.
const (
	notReady = iota + 1
	starting
	unschedulable
	failed
	stuck
)

// after returns the problem after a description of what holds up a roll-out, if
// anything does.
func (p problem) after(stall string) problem {
	if stall == "" {
		return p
	}
	return problem{stuck, joined("; ", stall, p.text)}
}

// worstOf describes the pod with the most severe problem; of equal ones the first by
// name, so that the description only changes when it must.
func worstOf(pods []corev1.Pod) problem {
	var found problem
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for i := range pods {
		pod := &pods[i]
		if p := diagnose(pod); p.severity > found.severity {
			found = problem{p.severity, fmt.Sprintf("pod %s%s: %s", pod.Name, onNode(pod), oneLine(p.text))}
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

// diagnose returns what is wrong with a pod.
func diagnose(pod *corev1.Pod) problem {
	if !pod.DeletionTimestamp.IsZero() {
		return problem{}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return problem{failed, sentence("has failed", pod.Status.Reason, pod.Status.Message)}
	}
	if scheduled := podCondition(pod, corev1.PodScheduled); scheduled.Status == corev1.ConditionFalse {
		return problem{unschedulable, sentence("cannot be scheduled", scheduled.Message)}
	}
	var found problem
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if p := diagnoseContainer(&statuses[i]); p.severity > found.severity {
				found = p
			}
		}
	}
	switch {
	case found.severity > 0:
		return found
	case podCondition(pod, corev1.PodReady).Status == corev1.ConditionTrue:
		return problem{}
	case pod.Status.Phase == corev1.PodRunning:
		return problem{notReady, "runs, but is not ready"}
	default:
		return problem{starting, "is starting"}
	}
}

// podCondition returns a condition of a pod, or the zero condition.
func podCondition(pod *corev1.Pod, conditionType corev1.PodConditionType) corev1.PodCondition {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == conditionType })
	if i < 0 {
		return corev1.PodCondition{}
	}
	return pod.Status.Conditions[i]
}

// diagnoseContainer goes by the reasons with which the kubelet lets a container wait.
// Those of a container that is being started are no problem.
func diagnoseContainer(status *corev1.ContainerStatus) problem {
	waiting := status.State.Waiting
	if waiting == nil {
		return problem{}
	}
	switch waiting.Reason {
	case "", "ContainerCreating", "PodInitializing":
		return problem{}
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable":
		return problem{stuck, sentence("cannot pull the image "+status.Image, waiting.Reason, waiting.Message)}
	case "CrashLoopBackOff":
		text := fmt.Sprintf("container %s crashes repeatedly", status.Name)
		if last := status.LastTerminationState.Terminated; last != nil {
			text = sentence(fmt.Sprintf("%s (exit status %d)", text, last.ExitCode), last.Reason, last.Message)
		}
		return problem{stuck, text}
	default:
		return problem{stuck, sentence(fmt.Sprintf("container %s is waiting", status.Name), waiting.Reason, waiting.Message)}
	}
}

// sentence joins the parts that are not empty.
func sentence(parts ...string) string { return joined(": ", parts...) }

func joined(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), separator)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
