// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
)

// DefaultNamespace is the namespace of an object without one.
const DefaultNamespace = "default"

// Subject is a network that the user describes, with its Shoot.
type Subject struct {
	// Source is the document of the Network, or of the Shoot if there is no Network.
	Source Source
	// Author is which of the two the user wrote.
	Author pipeline.Author
	// Network is the one in the input, or the one derived from the Shoot.
	Network *extensionsv1alpha1.Network
	// Shoot is nil if there is only a Network.
	Shoot *corev1beta1.Shoot
}

// String returns the kind and name of the object that the user wrote: "shoot garden-dev/mine".
func (s *Subject) String() string {
	if s.Author == pipeline.AuthorShoot {
		return "shoot " + cmp.Or(s.Shoot.Namespace, DefaultNamespace) + "/" + s.Shoot.Name
	}
	return "network " + cmp.Or(s.Network.Namespace, DefaultNamespace) + "/" + s.Network.Name
}

// Subjects matches Networks with Shoots. It returns all problems, also those of Add. Call
// it once, after all inputs are added.
//
// A Shoot belongs to the Network in its control-plane namespace. A single Shoot and a
// single Network always belong together. Without a Network, Subjects derives one from the
// Shoot, as gardenlet does.
func (s *Set) Subjects() ([]Subject, []Problem) {
	s.refuseTwins()
	var subjects []Subject
	single := len(s.networks) == 1 && len(s.shoots) == 1
	for _, named := range []bool{true, false} { // first Networks that name their namespace
		for _, each := range s.networks {
			if named != (each.object.Namespace != "") {
				continue
			}
			if one := s.withShoot(each, single); one != nil {
				subjects = append(subjects, *one)
			}
		}
	}
	for _, each := range s.shoots {
		derived, err := pipeline.NetworkForShoot(each.object)
		switch {
		case each.inCluster:
			s.wrong(each.source, fmt.Errorf(
				"the Cluster %s has no Network; add the Network in the namespace with the name of the Cluster", each.namespace))
		case err != nil: // only a Shoot without workers has none
			s.wrong(each.source, field.Required(field.NewPath("spec", "provider", "workers"), err.Error()))
		default:
			subjects = append(subjects, Subject{each.source, pipeline.AuthorShoot, derived, each.object})
		}
	}
	if len(subjects) == 0 && len(s.problems) == 0 {
		s.wrong(Source{}, errors.New("the input has no Network and no Shoot"))
	}
	return subjects, s.problems
}

// refuseTwins reports several objects where only one is possible.
func (s *Set) refuseTwins() {
	seen := map[string]Source{}
	twin := func(source Source, what string) {
		if first, has := seen[what]; has {
			s.wrong(source, fmt.Errorf("two %s: the other one is in %s", what, first.Label(first.File != source.File, true)))
		}
		seen[what] = source
	}
	for _, each := range s.networks {
		if namespace := each.object.Namespace; namespace != "" {
			twin(each.source, "Networks in namespace "+namespace)
		}
	}
	for _, each := range s.shoots {
		twin(each.source, "Shoots with the control-plane namespace "+each.namespace)
	}
}

// withShoot returns a Network with its Shoot, which it takes out of the set. It returns nil
// if it cannot know the Shoot.
func (s *Set) withShoot(each network, single bool) *Subject {
	subject := &Subject{each.source, pipeline.AuthorNetwork, each.object.DeepCopy(), nil}
	namespace := DefaultNamespace
	at := slices.IndexFunc(s.shoots, func(one shoot) bool { return single || one.namespace == each.object.Namespace })
	if at >= 0 {
		subject.Shoot, namespace = s.shoots[at].object, s.shoots[at].namespace
		s.shoots = slices.Delete(s.shoots, at, at+1)
	} else if each.object.Namespace == "" && len(s.shoots) > 0 {
		var candidates []string
		for _, one := range s.shoots {
			candidates = append(candidates, one.namespace)
		}
		s.wrong(each.source, field.Required(field.NewPath("metadata", "namespace"), fmt.Sprintf(
			"which Shoot belongs to the Network %s? Their control-plane namespaces are %s",
			each.object.Name, strings.Join(candidates, ", "))))
		return nil
	}
	subject.Network.Namespace = cmp.Or(each.object.Namespace, namespace)
	return subject
}
