// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// handler turns what the watch of one kind sees into events.
func (s *Shoot) handler(kind schema.GroupVersionKind) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(added any, isInInitialList bool) {
			if object, ok := added.(metav1.Object); ok && !isInInitialList {
				s.tellOf(kind, Created, object)
			}
		},
		UpdateFunc: func(before, after any) {
			old, okOld := before.(metav1.Object)
			object, ok := after.(metav1.Object)
			if !okOld || !ok || old.GetResourceVersion() == object.GetResourceVersion() {
				return
			}
			if relevant := s.declared.of(kind).Relevant; relevant != nil {
				if before, after, ok := bothObjects(before, after); ok && !relevant(before, after) {
					return
				}
			}
			change := Edited
			if kind := kind.GroupKind(); Fingerprint(kind, old) == Fingerprint(kind, object) {
				change = StatusChanged
			}
			s.tellOf(kind, change, old, object)
		},
		DeleteFunc: func(deleted any) {
			if tombstone, ok := deleted.(toolscache.DeletedFinalStateUnknown); ok {
				deleted = tombstone.Obj
			}
			if crd, ok := deleted.(*apiextensionsv1.CustomResourceDefinition); ok {
				s.unwatchKind(schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind})
			}
			if object, ok := deleted.(metav1.Object); ok {
				s.tellOf(kind, Deleted, object)
			}
		},
	}
}

func bothObjects(before, after any) (client.Object, client.Object, bool) {
	one, okOne := before.(client.Object)
	two, okTwo := after.(client.Object)
	return one, two, okOne && okTwo
}

// tellOf sends an event for each origin that the states of an object name.
func (s *Shoot) tellOf(kind schema.GroupVersionKind, change Change, states ...metav1.Object) {
	told := map[string]bool{}
	for _, object := range states {
		origin := object.GetAnnotations()[resourcesv1alpha1.Origin]
		if !told[origin] {
			told[origin] = true
			s.tell(Event{
				Namespace: s.Namespace, Kind: kind, Change: change, Origin: origin,
				Object: types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()},
			})
		}
	}
}
