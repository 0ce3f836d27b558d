// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/fielderror"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Subject is a network that the user describes, with its Shoot.
type Subject struct {
	// Source is the document of the Network, or of the Shoot if there is no Network, or of a
	// NetworkConfig that stands alone.
	Source Source
	// Author is which of them the user wrote.
	Author pipeline.Author
	// Network is the one in the input, or the one derived from the Shoot.
	Network *extensionsv1alpha1.Network
	// Shoot is nil if there is only a Network, and assumed if there is only a NetworkConfig.
	Shoot *corev1beta1.Shoot
}

// String returns the kind and name of the object that the user wrote: "shoot garden-dev/mine".
func (s *Subject) String() string {
	if s.Author == pipeline.AuthorConfig {
		return "networkconfig " + s.Network.Spec.Type
	}
	if s.Author == pipeline.AuthorShoot {
		return "shoot " + cmp.Or(s.Shoot.Namespace, metav1.NamespaceDefault) + "/" + s.Shoot.Name
	}
	return "network " + cmp.Or(s.Network.Namespace, metav1.NamespaceDefault) + "/" + s.Network.Name
}

// Subjects matches Networks with Shoots. It returns all problems, also those of Add. Call
// it once, after all inputs are added.
//
// A Shoot belongs to the Network in its control-plane namespace. A single Shoot and a
// single Network always belong together. Without a Network, Subjects derives one from the
// Shoot, as gardenlet does.
func (s *Set) Subjects() ([]*Subject, []Problem) {
	s.refuseTwins()
	var subjects []*Subject
	single := len(s.networks) == 1 && len(s.shoots) == 1
	for _, named := range []bool{true, false} { // first Networks that name their namespace
		for _, each := range s.networks {
			if named == (each.Network.Namespace != "") && s.complete(each, single) {
				subjects = append(subjects, each)
			}
		}
	}
	for _, each := range s.shoots {
		derived, err := pipeline.NetworkForShoot(each.object)
		switch {
		case each.inCluster:
			s.wrong(each.source, fmt.Errorf(
				"the Cluster %s has no Network; add the Network in the namespace with the name of the Cluster", each.namespace))
		case err != nil && s.Workerless:
			networking := ptr.Deref(each.object.Spec.Networking, corev1beta1.Networking{})
			network := &extensionsv1alpha1.Network{Spec: extensionsv1alpha1.NetworkSpec{Type: ptr.Deref(networking.Type, "")}}
			subjects = append(subjects, &Subject{each.source, pipeline.AuthorShoot, network, each.object})
		case err != nil: // only a Shoot without workers has none
			s.wrong(each.source, field.Required(field.NewPath("spec", "provider", "workers"), err.Error()))
		default:
			subjects = append(subjects, &Subject{each.source, pipeline.AuthorShoot, derived, each.object})
		}
	}
	subjects = append(subjects, s.configs...)
	if len(subjects) == 0 && len(s.problems) == 0 {
		s.wrong(Source{}, errors.New("the input has no Network, no Shoot and no NetworkConfig"))
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
		if namespace := each.Network.Namespace; namespace != "" {
			twin(each.Source, "Networks in namespace "+namespace)
		}
	}
	for _, each := range s.shoots {
		twin(each.source, "Shoots with the control-plane namespace "+each.namespace)
	}
}

// complete gives a Network its Shoot, which it takes out of the set, and a namespace. It returns
// false if it cannot know the Shoot.
func (s *Set) complete(subject *Subject, single bool) bool {
	network, namespace := subject.Network, metav1.NamespaceDefault
	at := slices.IndexFunc(s.shoots, func(one shoot) bool { return single || one.namespace == network.Namespace })
	if at >= 0 {
		subject.Shoot, namespace = s.shoots[at].object, s.shoots[at].namespace
		s.shoots = slices.Delete(s.shoots, at, at+1)
	} else if network.Namespace == "" && len(s.shoots) > 0 {
		var candidates []string
		for _, one := range s.shoots {
			candidates = append(candidates, one.namespace)
		}
		s.wrong(subject.Source, field.Required(field.NewPath("metadata", "namespace"), fmt.Sprintf(
			"which Shoot belongs to the Network %s? Their control-plane namespaces are %s",
			network.Name, strings.Join(candidates, ", "))))
		return false
	}
	network.Namespace = cmp.Or(network.Namespace, namespace)
	return true
}

// Contradictions returns where a Network and its Shoot have different values, and which value
// counts: one of them is probably old, or belongs to another cluster. The providerConfigs may
// differ, since webhooks may change the Network's.
func (s *Subject) Contradictions() []plugin.Warning {
	if s.Shoot == nil || s.Author != pipeline.AuthorNetwork {
		return nil
	}
	network, networking := &s.Network.Spec, ptr.Deref(s.Shoot.Spec.Networking, corev1beta1.Networking{})
	var families []string
	for _, family := range network.IPFamilies {
		families = append(families, string(family))
	}
	var found []plugin.Warning
	for _, each := range []struct{ path, network, shoot, counts string }{
		{"spec.type", network.Type, ptr.Deref(networking.Type, ""), "Network"},
		{"spec.podCIDR", network.EffectivePodCIDR(), ptr.Deref(networking.Pods, ""), "Network"},
		{"spec.serviceCIDR", network.ServiceCIDR, ptr.Deref(networking.Services, ""), "Network"},
		{"spec.ipFamilies", strings.Join(families, ", "), strings.Join(networking.IPFamilies, ", "), "Network"},
	} {
		if each.network != "" && each.shoot != "" && each.network != each.shoot {
			found = append(found, plugin.Warning{Field: each.path, Message: fmt.Sprintf("is %s, but the Shoot has %s; the %s counts",
				fielderror.Abbreviate(each.network), fielderror.Abbreviate(each.shoot), each.counts)})
		}
	}
	if len(s.Shoot.Spec.Provider.Workers) == 0 {
		found = append(found, plugin.Warning{
			Field: "shoot.spec.provider.workers", Message: "is empty, and a Shoot without workers has no pod network",
		})
	}
	return found
}
