// SPDX-License-Identifier: Apache-2.0

package health

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// rolloutPatience is how long a roll-out may make no progress before the nodes
	// that hold it up are named.
	rolloutPatience = 10 * time.Minute
	// nodesNamed is how many of them are.
	nodesNamed = 5
)

// stall says what holds up the roll-out of a DaemonSet, if anything does. Before its
// own controller has begun, the DaemonSet itself tells since when it is wanted.
func stall(ctx context.Context, live client.Reader, seen inspection, pods []corev1.Pod, now time.Time) string {
	if !seen.rollsOut {
		return ""
	}
	stalled := holdUp(pods, seen.wanted, now)
	if stalled == "" {
		return ""
	}
	daemonSet := &metav1.PartialObjectMetadata{}
	daemonSet.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("DaemonSet"))
	key := client.ObjectKey{Namespace: seen.component.Namespace, Name: seen.component.Workload}
	if err := live.Get(ctx, key, daemonSet); err != nil || now.Sub(lastChange(daemonSet)) < rolloutPatience {
		return ""
	}
	return stalled
}

// lastChange is when anybody changed an object last, but for its status.
func lastChange(object client.Object) time.Time {
	at := object.GetCreationTimestamp().Time
	for _, entry := range object.GetManagedFields() {
		if entry.Subresource == "" && entry.Time != nil {
			at = later(at, entry.Time.Time)
		}
	}
	return at
}

// holdUp names the nodes on which a roll-out waits, if it has made no progress for too
// long: no pod was made, and none got ready. It goes by what the API server keeps, so
// that it does not matter since when this process looks.
func holdUp(pods []corev1.Pod, wanted int32, now time.Time) string {
	var latest time.Time
	var nodes []string
	for i := range pods {
		pod := &pods[i]
		if at := progress(pod); at.After(latest) {
			latest = at
		}
		if !pod.DeletionTimestamp.IsZero() || !isReady(pod) {
			nodes = append(nodes, cmp.Or(pod.Spec.NodeName, nodeWanted(pod), "that pod "+pod.Name+" waits for"))
		}
	}
	if len(pods) == 0 || now.Sub(latest) < rolloutPatience {
		return ""
	}
	const stalled = "the roll-out has made no progress for more than 10 minutes"
	slices.Sort(nodes)
	switch nodes = slices.Compact(nodes); {
	case len(nodes) == 0 && len(pods) < int(wanted):
		return stalled // why pods cannot be made is said besides
	case len(nodes) == 0:
		return stalled + ", although all pods are ready: nobody replaces them"
	case len(nodes) == 1:
		return stalled + " because of node " + nodes[0]
	case len(nodes) > nodesNamed:
		return fmt.Sprintf("%s because of nodes %s and %d more", stalled, strings.Join(nodes[:nodesNamed], ", "), len(nodes)-nodesNamed)
	default:
		return stalled + " because of nodes " + strings.Join(nodes, ", ")
	}
}

// progress is when a pod last brought a roll-out on: when it was made, began to go, or
// got ready.
func progress(pod *corev1.Pod) time.Time {
	at := pod.CreationTimestamp.Time
	if gone := pod.DeletionTimestamp; gone != nil {
		asked := gone.Add(-time.Duration(graceOf(pod)) * time.Second)
		at = later(at, asked)
	}
	if ready := podCondition(pod, corev1.PodReady); ready != nil && ready.Status == corev1.ConditionTrue {
		at = later(at, ready.LastTransitionTime.Time)
	}
	return at
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func graceOf(pod *corev1.Pod) int64 {
	if pod.DeletionGracePeriodSeconds == nil {
		return 0
	}
	return *pod.DeletionGracePeriodSeconds
}

func isReady(pod *corev1.Pod) bool {
	ready := podCondition(pod, corev1.PodReady)
	return ready != nil && ready.Status == corev1.ConditionTrue
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
