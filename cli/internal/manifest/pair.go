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

// DefaultNamespace is where an object goes that does not say.
const DefaultNamespace = "default"

// Subject is one network that somebody wants, with all that is known about it.
type Subject struct {
	// Source is the document that the user wrote it in: the Network's, or the
	// Shoot's where only that was given.
	Source Source
	// Author says which of both it was.
	Author pipeline.Author
	// Network is the given one, or the one derived from the Shoot.
	Network *extensionsv1alpha1.Network
	// Shoot is nil where only a Network was given.
	Shoot *corev1beta1.Shoot
}

// String names the object that the user wrote: "shoot garden-dev/mine".
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

// Subjects finds out which Networks and Shoots belong together, and returns all
// that was wrong, here and in what was read.
//
// A Shoot belongs to the Network in its control-plane namespace. A single Shoot
// and a single Network belong together anyhow. A Shoot that belongs to no
// Network makes one, as gardenlet would.
func (s *Set) Subjects() ([]Subject, []Problem) {
	p := pairing{contexts: slices.Clone(s.contexts)}
	p.problems = slices.Clone(s.problems)
	p.refuseTwins(s)
	single := len(s.networks) == 1 && len(s.contexts) == 1
	// Those that name their namespace choose first.
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
		p.wrong(Source{}, errors.New("there is no Network and no Shoot in the input"))
	}
	return p.subjects, p.problems
}

// pairing is a call of Subjects under way.
type pairing struct {
	contexts []context // those that no Network has taken yet
	subjects []Subject
	problems []Problem
}

func (p *pairing) wrong(source Source, err error) {
	p.problems = append(p.problems, Problem{source, err})
}

// refuseTwins reports objects of which there can only be one.
func (p *pairing) refuseTwins(s *Set) {
	seen := map[string]Source{}
	twin := func(source Source, what string) {
		if first, has := seen[what]; has {
			p.wrong(source, fmt.Errorf("there are two %s, the other one in %s", what, first.Label(first.File != source.File, true)))
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
			"the Cluster %s has no Network beside it; a Cluster is context for the Network in the namespace of its name", each.namespace))
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
