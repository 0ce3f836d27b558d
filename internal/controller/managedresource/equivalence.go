// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// alwaysEquivalent are kinds which Kubernetes serves, or has served, in two
// groups: one object is both.
var alwaysEquivalent = [][]metav1.GroupKind{
	{{Group: "extensions", Kind: "Deployment"}, {Group: "apps", Kind: "Deployment"}},
	{{Group: "extensions", Kind: "DaemonSet"}, {Group: "apps", Kind: "DaemonSet"}},
	{{Group: "extensions", Kind: "ReplicaSet"}, {Group: "apps", Kind: "ReplicaSet"}},
	{{Group: "extensions", Kind: "StatefulSet"}, {Group: "apps", Kind: "StatefulSet"}},
	{{Group: "extensions", Kind: "Ingress"}, {Group: "networking.k8s.io", Kind: "Ingress"}},
	{{Group: "extensions", Kind: "NetworkPolicy"}, {Group: "networking.k8s.io", Kind: "NetworkPolicy"}},
}

// equivalence says which kinds are to be taken as the same: each kind that is
// equivalent to another leads to one which stands for all of them.
type equivalence map[schema.GroupKind]schema.GroupKind

// newEquivalence makes one of the kinds that are always equivalent and those of
// classes. Classes that share a kind are one.
func newEquivalence(classes [][]metav1.GroupKind) equivalence {
	e := equivalence{}
	for _, all := range [][][]metav1.GroupKind{alwaysEquivalent, classes} {
		for _, class := range all {
			for i := range class {
				first, other := e.kind(schema.GroupKind(class[0])), e.kind(schema.GroupKind(class[i]))
				if first != other {
					e[other] = first
				}
			}
		}
	}
	return e
}

// kind returns the kind that stands for all which are equivalent to the given
// one.
func (e equivalence) kind(kind schema.GroupKind) schema.GroupKind {
	for {
		next, ok := e[kind]
		if !ok {
			return kind
		}
		kind = next
	}
}

// of returns the identity that stands for an object under all equivalent kinds.
func (e equivalence) of(id identity) identity {
	id.GroupKind = e.kind(id.GroupKind)
	return id
}
