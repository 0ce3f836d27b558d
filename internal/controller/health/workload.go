// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/plugin"
)

// inspection is what was seen of one component.
type inspection struct {
	component *plugin.Component
	healthy   bool
	// summary is how many of how many, or what else is wrong.
	summary string
	// selector selects the workload's pods; nil if there is no workload.
	selector *metav1.LabelSelector
	// refusal is why the workload's own controller could not make pods, where the
	// workload says so itself.
	refusal string
	// rollsOut is the DaemonSet, if not all of its pods are of the latest revision and
	// available.
	rollsOut *appsv1.DaemonSet
}

// isKnown says whether inspect can tell the health of a kind of workload.
func isKnown(kind string) bool { return kind == "DaemonSet" || kind == "Deployment" }

// inspect sees the workload of a component. Its error means that nothing was seen.
func inspect(ctx context.Context, workloads client.Reader, component *plugin.Component) (inspection, error) {
	key := client.ObjectKey{Namespace: component.Namespace, Name: component.Workload}
	var seen inspection
	var err error
	switch component.Kind {
	case "DaemonSet":
		daemonSet := &appsv1.DaemonSet{}
		if err = workloads.Get(ctx, key, daemonSet); err == nil {
			seen = inspectDaemonSet(daemonSet)
		}
	case "Deployment":
		deployment := &appsv1.Deployment{}
		if err = workloads.Get(ctx, key, deployment); err == nil {
			seen = inspectDeployment(deployment)
		}
	default:
		err = fmt.Errorf("%s %s is of a kind whose health is not known", component.Kind, key)
	}
	seen.component = component
	if apierrors.IsNotFound(err) {
		seen.summary, err = fmt.Sprintf("the %s %s does not exist", component.Kind, key), nil
	} else if err != nil {
		err = fmt.Errorf("read the %s %s: %w", component.Kind, key, err)
	}
	return seen, err
}

// inspectDaemonSet wants a pod of the latest revision available on each node that
// is to have one. On no nodes there is nothing to be wrong.
func inspectDaemonSet(d *appsv1.DaemonSet) inspection {
	seen := inspection{selector: d.Spec.Selector}
	wanted, updated, available := d.Status.DesiredNumberScheduled, d.Status.UpdatedNumberScheduled, d.Status.NumberAvailable
	switch {
	case d.Status.ObservedGeneration < d.Generation:
		seen.summary = notObserved("DaemonSet", d)
	case wanted == 0:
		seen.healthy, seen.summary = true, "no nodes"
	default:
		seen.healthy, seen.summary = count("DaemonSet", d, wanted, updated, available)
		if !seen.healthy {
			seen.rollsOut = d
		}
	}
	return seen
}

// inspectDeployment wants all replicas to be of the latest revision and available.
func inspectDeployment(d *appsv1.Deployment) inspection {
	seen := inspection{selector: d.Spec.Selector}
	wanted := int32(1)
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	for _, condition := range d.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			seen.refusal = condition.Message
		}
	}
	switch {
	case d.Status.ObservedGeneration < d.Generation:
		seen.summary = notObserved("Deployment", d)
	case wanted == 0:
		seen.healthy, seen.summary = true, "scaled to zero"
	default:
		seen.healthy, seen.summary = count("Deployment", d, wanted, d.Status.UpdatedReplicas, d.Status.AvailableReplicas)
	}
	return seen
}

func notObserved(kind string, o client.Object) string {
	return fmt.Sprintf("the latest change of the %s %s has not been acted upon yet", kind, client.ObjectKeyFromObject(o))
}

func count(kind string, o client.Object, wanted, updated, available int32) (healthy bool, summary string) {
	switch {
	case available < wanted:
		return false, fmt.Sprintf("%d of %d pods of the %s %s are available", available, wanted, kind, client.ObjectKeyFromObject(o))
	case updated < wanted:
		return false, fmt.Sprintf("%d of %d pods of the %s %s are up to date", updated, wanted, kind, client.ObjectKeyFromObject(o))
	default:
		return true, fmt.Sprintf("%d of %d pods", wanted, wanted)
	}
}
