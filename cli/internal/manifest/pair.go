// SPDX-License-Identifier: Apache-2.0

package manifest

import (
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
		return "shoot " + nameOf(s.Shoot.Namespace, s.Shoot.Name)
	}
	return "network " + nameOf(s.Network.Namespace, s.Network.Name)
}

func nameOf(namespace, name string) string {
	if namespace == "" {
		namespace = DefaultNamespace
	}
	return namespace + "/" + name
}

// Subjects matches Networks with Shoots. It returns all problems, also those of Add.
//
// A Shoot belongs to the Network in its control-plane namespace. A single Shoot and a
// single Network always belong together. Without a Network, Subjects derives one from the
// Shoot, as gardenlet does.
func (s *Set) Subjects() ([]Subject, []Problem) {
	p := pairing{contexts: slices.Clone(s.contexts)}
	p.problems = slices.Clone(s.problems)
	p.refuseTwins(s)
	single := len(s.networks) == 1 && len(s.contexts) == 1
	// Networks with a namespace take their Shoots first.
	for _, named := range []bool{true, false} {
		for _, each := range s.networks {
			if named == (each.object.Namespace != "") {
				p.addNetwork(each, single)
			}
		}
	}
	for _, each := range p.contexts {
		p.addShoot(each)
	}
	if len(p.subjects) == 0 && len(p.problems) == 0 {
		p.wrong(Source{}, errors.New("the input has no Network and no Shoot"))
	}
	return p.subjects, p.problems
}

// pairing is a call of Subjects under way.
type pairing struct {
	contexts []context // without those that belong to a Network already
	subjects []Subject
	problems []Problem
}

func (p *pairing) wrong(source Source, err error) {
	p.problems = append(p.problems, Problem{source, err})
}

// refuseTwins reports several objects where only one is possible.
func (p *pairing) refuseTwins(s *Set) {
	seen := map[string]Source{}
	twin := func(source Source, what string) {
		if first, has := seen[what]; has {
			p.wrong(source, fmt.Errorf("two %s: the other one is in %s", what, first.Label(first.File != source.File, true)))
		}
		seen[what] = source
	}
	for _, each := range s.networks {
		if namespace := each.object.Namespace; namespace != "" {
			twin(each.source, "Networks in namespace "+namespace)
		}
	}
	for _, each := range s.contexts {
		twin(each.source, "Shoots with the control-plane namespace "+each.namespace)
	}
}

func (p *pairing) addNetwork(each network, single bool) {
	subject := Subject{Source: each.source, Author: pipeline.AuthorNetwork, Network: each.object.DeepCopy()}
	at := slices.IndexFunc(p.contexts, func(c context) bool { return single || c.namespace == each.object.Namespace })
	switch {
	case at >= 0:
		subject.Shoot = p.contexts[at].object
		if subject.Network.Namespace == "" {
			subject.Network.Namespace = p.contexts[at].namespace
		}
		p.contexts = slices.Delete(p.contexts, at, at+1)
	case each.object.Namespace == "" && len(p.contexts) > 0:
		var candidates []string
		for _, c := range p.contexts {
			candidates = append(candidates, c.namespace)
		}
		p.wrong(each.source, field.Required(field.NewPath("metadata", "namespace"), fmt.Sprintf(
			"which Shoot belongs to the Network %s? Their control-plane namespaces are %s",
			each.object.Name, strings.Join(candidates, ", "))))
		return
	case each.object.Namespace == "":
		subject.Network.Namespace = DefaultNamespace
	}
	p.subjects = append(p.subjects, subject)
}

func (p *pairing) addShoot(each context) {
	if each.inCluster {
		p.wrong(each.source, fmt.Errorf(
			"the Cluster %s has no Network; add the Network in the namespace with the name of the Cluster", each.namespace))
		return
	}
	network, err := pipeline.NetworkForShoot(each.object)
	if errors.Is(err, pipeline.ErrWorkerless) {
		p.wrong(each.source, field.Required(field.NewPath("spec", "provider", "workers"), err.Error()))
		return
	}
	if err != nil {
		p.wrong(each.source, err)
		return
	}
	p.subjects = append(p.subjects, Subject{
		Source: each.source, Author: pipeline.AuthorShoot, Network: network, Shoot: each.object,
	})
}
