// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// fieldManager owns the conditions and providerStatus.components. The rest of
// the providerStatus belongs to controller/network; server-side apply touches
// only what its manager has stated.
const fieldManager = client.FieldOwner("trellis-health")

// write stores the condition and the components if they differ from what the
// Network has.
func (r *reconciler) write(ctx context.Context, network *extensionsv1alpha1.Network, condition corev1beta1.Condition, components map[string]bool) error {
	before := conditionOf(network)
	key := client.ObjectKeyFromObject(network)
	same := sameComponents(network, components) ||
		includes(statedComponents(network), components) && r.applied.were(key, components)
	if before != nil && apiequality.Semantic.DeepEqual(*before, condition) && same {
		return nil
	}
	status := map[string]any{}
	conditions, err := withCondition(network.Status.Conditions, condition)
	if err != nil {
		return err
	}
	status["conditions"] = conditions
	if len(components) > 0 {
		stated := map[string]any{}
		for name, isHealthy := range components {
			stated[name] = isHealthy
		}
		status["providerStatus"] = map[string]any{"components": stated}
	}
	object := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	object.SetGroupVersionKind(extensionsv1alpha1.GroupVersion.WithKind("Network"))
	object.SetNamespace(network.Namespace)
	object.SetName(network.Name)
	object.SetUID(network.UID)
	apply := client.ApplyConfigurationFromUnstructured(object)
	if err := r.client.Status().Apply(ctx, apply, fieldManager, client.ForceOwnership); err != nil {
		return fmt.Errorf("write the health of the Network: %w", err)
	}
	r.applied.remember(key, components)
	return nil
}

// withCondition is the list of conditions to state: a list has one owner, so
// those of other types are carried along.
func withCondition(present []corev1beta1.Condition, condition corev1beta1.Condition) ([]any, error) {
	all := slices.Clone(present)
	if i := slices.IndexFunc(all, isOurs); i >= 0 {
		all[i] = condition
	} else {
		all = append(all, condition)
	}
	list := make([]any, 0, len(all))
	for i := range all {
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&all[i])
		if err != nil {
			return nil, fmt.Errorf("encode the condition %s: %w", all[i].Type, err)
		}
		list = append(list, object)
	}
	return list, nil
}

// statedComponents are the components in a Network's status.
func statedComponents(network *extensionsv1alpha1.Network) map[string]any {
	var stated struct {
		Components map[string]any `json:"components"`
	}
	if raw := network.Status.ProviderStatus; raw != nil && json.Unmarshal(raw.Raw, &stated) != nil {
		return nil
	}
	return stated.Components
}

// sameComponents says whether the Network's status states just these.
func sameComponents(network *extensionsv1alpha1.Network, components map[string]bool) bool {
	stated := statedComponents(network)
	return len(stated) == len(components) && includes(stated, components)
}

func includes(stated map[string]any, components map[string]bool) bool {
	for name, isHealthy := range components {
		if stated[name] != isHealthy {
			return false
		}
	}
	return true
}

// applied remembers of each Network which components were stated last. What is
// in its status besides them is somebody else's then, and applying again would
// not remove it.
type applied struct {
	lock  sync.Mutex
	names map[types.NamespacedName]string
}

func (a *applied) remember(network types.NamespacedName, components map[string]bool) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.names == nil {
		a.names = map[types.NamespacedName]string{}
	}
	a.names[network] = namesOf(components)
}

func (a *applied) forget(network types.NamespacedName) {
	a.lock.Lock()
	defer a.lock.Unlock()
	delete(a.names, network)
}

// were says whether components of just these names were stated last.
func (a *applied) were(network types.NamespacedName, components map[string]bool) bool {
	a.lock.Lock()
	defer a.lock.Unlock()
	names, known := a.names[network]
	return known && names == namesOf(components)
}

func namesOf(components map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(components)), ",")
}
