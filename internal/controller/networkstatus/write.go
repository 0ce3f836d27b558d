// SPDX-License-Identifier: Apache-2.0

package networkstatus

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
)

// fieldManager owns the conditions and the sources' part of the providerStatus. The rest
// of the providerStatus belongs to controller/network; server-side apply only touches
// what its manager has stated. The name is on Networks in the field, so it stays.
const fieldManager = client.FieldOwner("trellis-health")

// write writes what the sources report into the Network's status, if that changes it and the
// cluster has not changed it too often lately. It returns when the sources must report again; 0
// means after an event.
func (r *reconciler) write(ctx context.Context, network *extensionsv1alpha1.Network, answers []answer, now time.Time) (time.Duration, error) {
	key := client.ObjectKeyFromObject(network)
	applied, _ := r.applied.Get(key)
	wanted := merge(network, applied, answers, now)
	if !wanted.changed {
		return wanted.requeueAfter, nil
	}
	if wait := r.budget.Spend(network, now); wait > 0 {
		wanted.requeueSoon(wait)
		return wanted.requeueAfter, nil
	}
	conditions, err := encode(wanted)
	if err != nil {
		return 0, err
	}
	status := map[string]any{"conditions": conditions}
	if len(wanted.providerStatus) > 0 {
		status["providerStatus"] = wanted.providerStatus
	}
	object := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	object.SetGroupVersionKind(extensionsv1alpha1.GroupVersion.WithKind("Network"))
	object.SetNamespace(network.Namespace)
	object.SetName(network.Name)
	object.SetUID(network.UID)
	apply := client.ApplyConfigurationFromUnstructured(object)
	if err := r.client.Status().Apply(ctx, apply, fieldManager, client.ForceOwnership); err != nil {
		return 0, fmt.Errorf("write the status of the Network: %w", err)
	}
	r.applied.Set(key, wanted.providerStatus)
	r.expected.Expect(key, "", object.GetResourceVersion())
	logTransitions(ctx, network, wanted.conditions, now)
	return wanted.requeueAfter, nil
}

// logTransitions logs the conditions of a Network whose status has changed, with the keys of
// outcome.Transition and the condition in place of the operation. The duration is the time
// since the condition got its former status.
func logTransitions(ctx context.Context, network *extensionsv1alpha1.Network, conditions []corev1beta1.Condition, now time.Time) {
	for i := range conditions {
		c := &conditions[i]
		before := condition.Value(network.Status.Conditions, c.Type)
		if before.Status == c.Status {
			continue
		}
		var duration time.Duration
		if before.Status != "" {
			duration = now.Sub(before.LastTransitionTime.Time)
		}
		logf.FromContext(ctx).Info("Network changed condition", "network", client.ObjectKeyFromObject(network).String(), "type", network.Spec.Type,
			"condition", c.Type, "state", c.Status, "message", c.Message, "duration", duration.Round(time.Millisecond).String())
	}
}

func encode(wanted desired) ([]any, error) {
	list := make([]any, 0, len(wanted.conditions))
	for i := range wanted.conditions {
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&wanted.conditions[i])
		if err != nil {
			return nil, fmt.Errorf("encode the condition %s: %w", wanted.conditions[i].Type, err)
		}
		list = append(list, object)
	}
	return list, nil
}
