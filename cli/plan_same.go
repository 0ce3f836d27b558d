// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/cli/internal/manifest"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// mismatch is a field which shows that the two networks of a plan may belong to different
// clusters.
type mismatch struct {
	// path is the field, and value the one of the new network.
	path, value string
	// of and other name the new object and the old one.
	of, other string
}

// uidPath is a field which shows that two clusters certainly differ.
const uidPath = "metadata.uid"

// refuse returns the error about a network that is compared with the one in place.
func (m *mismatch) refuse(place string) string {
	return field.Invalid(field.NewPath(m.path), m.value, m.in(place)+"; plan compares networks of one cluster").Error()
}

func (m *mismatch) warning(place string) plugin.Warning {
	return plugin.Warning{Field: m.path, Message: m.in(place) + "; plan compares them as one network"}
}

func (m *mismatch) in(place string) string {
	return fmt.Sprintf("this is %s, but %s has %s", m.of, place, m.other)
}

// mismatchOf returns the most certain mismatch of two networks, or nil. It ignores fields
// that one of them does not set.
func mismatchOf(old, next *manifest.Subject) (found *mismatch) {
	compare := func(path, was, is, other, of string) {
		if found == nil && was != "" && is != "" && was != is {
			found = &mismatch{path, is, of, other}
		}
	}
	names := func(kind string, was, is metav1.Object) {
		other, of := nameOf(kind, was), nameOf(kind, is)
		compare("metadata.name", was.GetName(), is.GetName(), other, of)
		if was.GetNamespace() != manifest.DefaultNamespace && is.GetNamespace() != manifest.DefaultNamespace { // it may be assumed
			compare("metadata.namespace", was.GetNamespace(), is.GetNamespace(), other, of)
		}
	}
	if old.Shoot != nil && next.Shoot != nil {
		was, is := string(old.Shoot.UID), string(next.Shoot.UID)
		compare(uidPath, was, is, nameOf("Shoot", old.Shoot)+" with the uid "+was, nameOf("Shoot", next.Shoot)+" with the uid "+is)
		names("Shoot", old.Shoot, next.Shoot)
	}
	// A Network has the name of its Shoot. Its uid changes when the control plane moves.
	if old.Author == pipeline.AuthorNetwork && next.Author == pipeline.AuthorNetwork {
		names("Network", old.Network, next.Network)
	} else if old.Shoot == nil || next.Shoot == nil {
		compare("metadata.name", old.Network.Name, next.Network.Name, old.String(), next.String())
	}
	return found
}

func nameOf(kind string, object metav1.Object) string {
	if object.GetNamespace() == "" {
		return "the " + kind + " " + object.GetName()
	}
	return "the " + kind + " " + object.GetNamespace() + "/" + object.GetName()
}
