// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// identity tells one object in a cluster from all others. The API version is no
// part of it: an object that moves to a newer one stays the same object.
type identity struct {
	schema.GroupKind
	types.NamespacedName
}

// String is how an object is named in messages.
func (i identity) String() string {
	if i.Namespace == "" {
		return i.Kind + " " + i.Name
	}
	return i.Kind + " " + i.Namespace + "/" + i.Name
}

type reference = resourcesv1alpha1.ObjectReference

func kindOf(ref *reference) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
}

func identityOf(ref *reference) identity {
	return identity{kindOf(ref).GroupKind(), types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}}
}

func newReference(kind schema.GroupVersionKind, key types.NamespacedName, labels, annotations map[string]string) reference {
	apiVersion, kindName := kind.ToAPIVersionAndKind()
	return reference{
		ObjectReference: corev1.ObjectReference{APIVersion: apiVersion, Kind: kindName, Namespace: key.Namespace, Name: key.Name},
		Labels:          labels, Annotations: annotations,
	}
}

// sortInventory puts references into the order of status.resources: by group,
// kind, namespace, name.
func sortInventory(refs []reference) {
	slices.SortFunc(refs, func(a, b reference) int {
		x, y := identityOf(&a), identityOf(&b)
		return cmp.Or(cmp.Compare(x.Group, y.Group), cmp.Compare(x.Kind, y.Kind),
			cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
}

// union returns the references of both; where an object is in both, that of
// first.
func union(first, second []reference) []reference {
	all := slices.Concat(first, without(second, first))
	sortInventory(all)
	return all
}

// without returns those of refs which are not among others.
func without(refs, others []reference) []reference {
	skip := make(map[identity]bool, len(others))
	for i := range others {
		skip[identityOf(&others[i])] = true
	}
	var rest []reference
	for i := range refs {
		if !skip[identityOf(&refs[i])] {
			rest = append(rest, refs[i])
		}
	}
	return rest
}

// sameInventory says whether two sorted inventories are equal.
func sameInventory(a, b []reference) bool {
	return slices.EqualFunc(a, b, func(x, y reference) bool {
		return x.ObjectReference == y.ObjectReference &&
			maps.Equal(x.Labels, y.Labels) && maps.Equal(x.Annotations, y.Annotations)
	})
}

// find returns the reference to an object, or nil.
func find(refs []reference, id identity) *reference {
	for i := range refs {
		if identityOf(&refs[i]) == id {
			return &refs[i]
		}
	}
	return nil
}
