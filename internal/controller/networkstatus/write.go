// SPDX-License-Identifier: Apache-2.0

package networkstatus

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/outcome"
)

// fieldManager owns the conditions and the sources' part of the providerStatus. The rest
// of the providerStatus belongs to controller/network; server-side apply only touches
// what its manager has stated. The name is on Networks in the field, so it stays.
const fieldManager = client.FieldOwner("trellis-health")

// written is what was written into a Network's status, when, and the version of the
// Network that this made. The zero value means that this process has written nothing.
type written struct {
	uid            types.UID
	version        string
	at             time.Time
	providerStatus map[string]any
}

func (w written) known() bool { return w.version != "" }

// isNewerThan reports whether a Network from the cache is older than what was written,
// so that nothing can be decided by it. Versions are comparable since Kubernetes 1.35
// (KEP-5504), and were in practice before.
func (w written) isNewerThan(network *extensionsv1alpha1.Network, now time.Time) bool {
	if !w.known() {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(network.ResourceVersion, w.version)
	return err == nil && order < 0 && network.UID == w.uid && now.Before(w.at.Add(maxLag))
}

// write writes what the sources report into the Network's status, if that changes it. It
// returns when the sources must report again; 0 means after an event.
func (r *reconciler) write(ctx context.Context, network *extensionsv1alpha1.Network, answers []answer, now time.Time) (time.Duration, error) {
	key := client.ObjectKeyFromObject(network)
	last, _ := r.written.Get(key)
	wanted := merge(network, last, answers, now)
	if !wanted.changed || last.isNewerThan(network, now) {
		// The event that brings the cache up to date has the Network observed again.
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
	r.written.Set(key, written{object.GetUID(), object.GetResourceVersion(), r.options.Clock.Now(), wanted.providerStatus})
	logTransitions(ctx, network, wanted.conditions, now)
	return wanted.requeueAfter, nil
}

// logTransitions logs the conditions of a Network whose status has changed.
func logTransitions(ctx context.Context, network *extensionsv1alpha1.Network, conditions []corev1beta1.Condition, now time.Time) {
	for i := range conditions {
		before := condition.Value(network.Status.Conditions, conditions[i].Type)
		if before.Status == conditions[i].Status {
			continue
		}
		transition := outcome.ConditionTransition{
			Network: client.ObjectKeyFromObject(network), Type: network.Spec.Type, Condition: conditions[i],
		}
		if before.Status != "" {
			transition.Duration = now.Sub(before.LastTransitionTime.Time)
		}
		transition.Log(logf.FromContext(ctx))
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
