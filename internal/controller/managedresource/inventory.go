// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// identity identifies an object in a cluster. The API version is no part of it: an object
// that moves to a newer version is the same object.
type identity struct {
	schema.GroupKind
	types.NamespacedName
}

// String names the object in messages.
func (i identity) String() string {
	if i.Namespace == "" {
		return i.Kind + " " + i.Name
	}
	return i.Kind + " " + i.Namespace + "/" + i.Name
}

// reference is an object in the inventory.
type reference = resourcesv1alpha1.ObjectReference

func kindOf(ref *reference) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
}

func identityOf(ref *reference) identity {
	return identity{kindOf(ref).GroupKind(), types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}}
}

func identityOfObject(object client.Object) identity {
	return identity{object.GetObjectKind().GroupVersionKind().GroupKind(), client.ObjectKeyFromObject(object)}
}

func newReference(object client.Object) reference {
	apiVersion, kind := object.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	return reference{
		ObjectReference: corev1.ObjectReference{APIVersion: apiVersion, Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()},
		Labels:          object.GetLabels(), Annotations: object.GetAnnotations(),
	}
}

func compareIdentities(a, b identity) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// sortInventory sorts references as in status.resources: by group, kind, namespace, name.
func sortInventory(refs []reference) {
	slices.SortFunc(refs, func(a, b reference) int { return compareIdentities(identityOf(&a), identityOf(&b)) })
}

// union returns the references of both; where an object is in both, that of first.
func union(first, second []reference) []reference {
	all := slices.Concat(first, without(second, first))
	sortInventory(all)
	return all
}

// without returns those of refs whose objects are not among others.
func without(refs, others []reference) []reference {
	skip := make(map[identity]bool, len(others))
	for i := range others {
		skip[identityOf(&others[i])] = true
	}
	return slices.DeleteFunc(slices.Clone(refs), func(ref reference) bool { return skip[identityOf(&ref)] })
}

// contains reports whether an inventory has an object.
func contains(refs []reference, id identity) bool {
	return slices.ContainsFunc(refs, func(ref reference) bool { return identityOf(&ref) == id })
}

// parseOrigin returns the ManagedResource that the origin annotation of an object names
// (R15). Gardener's resource manager puts the name of another seed and ":" before it.
func parseOrigin(origin string) (owner types.NamespacedName, ok bool) {
	owner.Namespace, owner.Name, ok = strings.Cut(origin, "/")
	return owner, ok && owner.Namespace != "" && owner.Name != "" && !strings.Contains(origin, ":")
}
