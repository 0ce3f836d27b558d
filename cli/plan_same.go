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

// mismatch shows that the two networks of a plan belong to different clusters.
type mismatch struct {
	path *field.Path
	// value is the new network's value at path. of and other name the new object and the
	// old one.
	value, of, other string
}

func (m *mismatch) refuse(other string) error {
	return field.Invalid(m.path, m.value, fmt.Sprintf("this is %s, but %s %s; plan compares networks of one cluster", m.of, other, m.other))
}

func (m *mismatch) warning(other string) plugin.Warning {
	return plugin.Warning{Field: m.path.String(), Message: fmt.Sprintf(
		"this is %s, but %s %s; plan compares them as one network", m.of, other, m.other)}
}

// uid is the path of a Shoot's uid, which is unique. A Network's is not compared, since it
// changes when the control plane moves to another seed.
var uid = field.NewPath("metadata", "uid")

// isCertain reports whether the clusters certainly differ.
func (m *mismatch) isCertain() bool { return m.path.String() == uid.String() }

// mismatchOf returns the most certain mismatch of two networks, or nil. It ignores fields
// that one of them does not set.
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
	case old.Shoot == nil || next.Shoot == nil: // a Network has the name of its Shoot
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

// spelt returns the namespace that the user wrote. The default one may come from Trellis.
func spelt(namespace string) string {
	if namespace == manifest.DefaultNamespace {
		return ""
	}
	return namespace
}
