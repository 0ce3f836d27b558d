// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/cli/internal/manifest"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// mismatch tells that what a plan begins with and what it ends with are of two clusters.
type mismatch struct {
	path *field.Path
	// value is what stands at path, and of and other are whom both belong to.
	value, of, other string
}

func (m *mismatch) refuse(other string) error {
	return field.Invalid(m.path, m.value, fmt.Sprintf("this is %s, but %s %s; a plan is about one cluster", m.of, other, m.other))
}

func (m *mismatch) warning(other string) plugin.Warning {
	return plugin.Warning{Field: m.path.String(), Message: fmt.Sprintf(
		"this is %s, but %s %s; the plan takes it for what the latter is to become", m.of, other, m.other)}
}

// uid is a Shoot's, which no two clusters share, and which nobody writes who only tries
// what would be. A Network gets another one with each seed that its cluster moves to.
var uid = field.NewPath("metadata", "uid")

// isCertain says that there is no other explanation.
func (m *mismatch) isCertain() bool { return m.path.String() == uid.String() }

// mismatchOf is the surest sign that both are of two clusters, nil if there is none. What
// one of them does not say is none.
func mismatchOf(old, next *manifest.Subject) *mismatch {
	var found []mismatch
	compare := func(path *field.Path, was, is, other, of string) {
		if was != "" && is != "" && was != is {
			found = append(found, mismatch{path, is, of, other})
		}
	}
	objects := func(kind string, was, is metav1.Object) {
		other, of := called(kind, was), called(kind, is)
		if kind == shootKind {
			compare(uid, string(was.GetUID()), string(is.GetUID()), other, of)
		}
		compare(field.NewPath("metadata", "name"), was.GetName(), is.GetName(), other, of)
		compare(field.NewPath("metadata", "namespace"), spelt(was.GetNamespace()), spelt(is.GetNamespace()), other, of)
	}
	if old.Shoot != nil && next.Shoot != nil {
		objects(shootKind, old.Shoot, next.Shoot)
	}
	switch {
	case old.Author == pipeline.AuthorNetwork && next.Author == pipeline.AuthorNetwork:
		objects("Network", old.Network, next.Network)
	case old.Shoot == nil || next.Shoot == nil: // a Network is called like its Shoot
		compare(field.NewPath("metadata", "name"), old.Network.Name, next.Network.Name, old.String(), next.String())
	}
	if len(found) == 0 {
		return nil
	}
	return &found[max(0, slices.IndexFunc(found, func(m mismatch) bool { return m.isCertain() }))]
}

const shootKind = "Shoot"

func called(kind string, object metav1.Object) string {
	name := "the " + kind + " " + object.GetName()
	if namespace := object.GetNamespace(); namespace != "" {
		name = "the " + kind + " " + namespace + "/" + object.GetName()
	}
	if id := object.GetUID(); id != "" && kind == shootKind {
		name += " with the uid " + string(id)
	}
	return name
}

// spelt is a namespace that somebody has written; the default one may be nobody's choice.
func spelt(namespace string) string {
	if namespace == manifest.DefaultNamespace {
		return ""
	}
	return namespace
}
