// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
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
	key, now := client.ObjectKeyFromObject(network), r.options.Clock.Now()
	last, known := r.statements.last(key)
	if known && last.isNewerThan(network, now) {
		return nil // what the cache is to get next has it looked at again
	}
	if before := conditionOf(network); before != nil && apiequality.Semantic.DeepEqual(*before, condition) &&
		(sameComponents(network, components) || known && last.stands(network, components)) {
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
	r.statements.remember(key, statement{object.GetUID(), object.GetResourceVersion(), now, components})
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

// statement is what was applied to a Network, when, and which version that made of it.
type statement struct {
	uid        types.UID
	version    string
	at         time.Time
	components map[string]bool
}

// stands says that a Network has just these components of ours. What is in its status
// besides them is somebody else's, and applying again would not remove it.
func (s statement) stands(network *extensionsv1alpha1.Network, components map[string]bool) bool {
	return includes(statedComponents(network), components) && maps.EqualFunc(s.components, components, func(bool, bool) bool { return true })
}

// longestLag is how far the cache may be behind. Versions that are older for longer are
// those of an API server which was restored from a backup.
const longestLag = time.Minute

// isNewerThan says that a Network, from the cache, is older than what was applied to it,
// so that nothing can be judged by it. Versions are comparable since Kubernetes 1.35
// (KEP-5504), and were in fact before.
func (s statement) isNewerThan(network *extensionsv1alpha1.Network, now time.Time) bool {
	order, err := resourceversion.CompareResourceVersion(network.ResourceVersion, s.version)
	return err == nil && order < 0 && network.UID == s.uid && now.Before(s.at.Add(longestLag))
}

// statements remembers of each Network what was applied last.
type statements struct {
	lock      sync.Mutex
	byNetwork map[types.NamespacedName]statement
}

func (s *statements) remember(network types.NamespacedName, last statement) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.byNetwork == nil {
		s.byNetwork = map[types.NamespacedName]statement{}
	}
	s.byNetwork[network] = last
}

func (s *statements) forget(network types.NamespacedName) {
	s.lock.Lock()
	defer s.lock.Unlock()
	delete(s.byNetwork, network)
}

func (s *statements) last(network types.NamespacedName) (statement, bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	last, ok := s.byNetwork[network]
	return last, ok
}
