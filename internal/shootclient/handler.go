// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// changed turns what the watch of one kind sees into events. before is nil for an object that is
// new, after for one that is gone.
func (s *Shoot) changed(declared Watch, before, after client.Object) {
	if declared.Silent {
		return
	}
	kind := declared.Kind
	switch {
	case before == nil:
		s.tellOf(kind, Created, after)
	case after == nil:
		if crd, ok := before.(*apiextensionsv1.CustomResourceDefinition); ok {
			s.unwatchKind(schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind})
		}
		s.tellOf(kind, Deleted, before)
	case before.GetResourceVersion() == after.GetResourceVersion():
	case declared.Relevant != nil && !declared.Relevant(before, after):
	case Fingerprint(kind.GroupKind(), before) == Fingerprint(kind.GroupKind(), after):
		s.tellOf(kind, StatusChanged, before, after)
	default:
		s.tellOf(kind, Edited, before, after)
	}
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
