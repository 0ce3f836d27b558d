// SPDX-License-Identifier: Apache-2.0

package components

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

// workload is what was observed of one component's workload.
type workload struct {
	component *plugin.Component
	healthy   bool
	// summary counts the pods, or states what else is wrong.
	summary string
	// selector selects the workload's pods; nil if there is no workload.
	selector *metav1.LabelSelector
	// creationError is why pods cannot be created, where the workload's status says so.
	creationError string
	// rollingOut is the DaemonSet, if not all of its pods are of the latest revision and
	// available.
	rollingOut *appsv1.DaemonSet
}

// readWorkload observes the workload of a component. Its error means that the health of
// the component is unknown.
func readWorkload(ctx context.Context, cached client.Reader, component *plugin.Component) (workload, error) {
	key := client.ObjectKey{Namespace: component.Namespace, Name: component.Workload}
	var seen workload
	var err error
	switch component.Kind {
	case "DaemonSet":
		daemonSet := &appsv1.DaemonSet{}
		if err = cached.Get(ctx, key, daemonSet); err == nil {
			seen = checkDaemonSet(daemonSet)
		}
	case "Deployment":
		deployment := &appsv1.Deployment{}
		if err = cached.Get(ctx, key, deployment); err == nil {
			seen = checkDeployment(deployment)
		}
	default:
		err = fmt.Errorf("%s %s is of a kind whose health cannot be checked", component.Kind, key)
	}
	seen.component = component
	if apierrors.IsNotFound(err) {
		seen.summary, err = fmt.Sprintf("the %s %s does not exist", component.Kind, key), nil
	} else if err != nil {
		err = fmt.Errorf("read the %s %s: %w", component.Kind, key, err)
	}
	return seen, err
}

// checkDaemonSet calls a DaemonSet healthy when each node that needs a pod has an
// available one of the latest revision. Without such nodes it is healthy. Where pods stay
// until they are deleted, as while the type of a network changes, any revision does.
func checkDaemonSet(d *appsv1.DaemonSet) workload {
	seen := workload{selector: d.Spec.Selector}
	desired, updated, available := d.Status.DesiredNumberScheduled, d.Status.UpdatedNumberScheduled, d.Status.NumberAvailable
	if d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
		updated = desired
	}
	switch {
	case d.Status.ObservedGeneration < d.Generation:
		seen.summary = notObserved("DaemonSet", d)
	case desired == 0:
		seen.healthy, seen.summary = true, "no nodes"
	default:
		seen.healthy, seen.summary = count("DaemonSet", d, desired, updated, available)
		if !seen.healthy {
			seen.rollingOut = d
		}
	}
	return seen
}

// checkDeployment calls a Deployment healthy when all replicas are of the latest
// revision and available.
func checkDeployment(d *appsv1.Deployment) workload {
	seen := workload{selector: d.Spec.Selector}
	desired := int32(1)
	if d.Spec.Replicas != nil {
		desired = *d.Spec.Replicas
	}
	for _, condition := range d.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			seen.creationError = condition.Message
		}
	}
	switch {
	case d.Status.ObservedGeneration < d.Generation:
		seen.summary = notObserved("Deployment", d)
	case desired == 0:
		seen.healthy, seen.summary = true, "scaled to zero"
	default:
		seen.healthy, seen.summary = count("Deployment", d, desired, d.Status.UpdatedReplicas, d.Status.AvailableReplicas)
	}
	return seen
}

func notObserved(kind string, o client.Object) string {
	return fmt.Sprintf("the %s controller has not observed the latest change of the %s %s yet", kind, kind, client.ObjectKeyFromObject(o))
}

func count(kind string, o client.Object, desired, updated, available int32) (healthy bool, summary string) {
	switch {
	case available < desired:
		return false, fmt.Sprintf("%d of %d pods of the %s %s are available", available, desired, kind, client.ObjectKeyFromObject(o))
	case updated < desired:
		return false, fmt.Sprintf("%d of %d pods of the %s %s are up to date", updated, desired, kind, client.ObjectKeyFromObject(o))
	default:
		return true, fmt.Sprintf("%d of %d pods", desired, desired)
	}
}
