// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/cache"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/cli/internal/manifest"
	"github.com/trellis-network/trellis/internal/jsonequal"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// running is the network that a plan compares with.
type running struct {
	old     candidate
	network *extensionsv1alpha1.Network
	// shoot is nil if it is unknown.
	shoot *corev1beta1.Shoot
	// live reports whether network and shoot were read from a seed.
	live bool
	// applied is what was applied last, nil if it is unknown.
	applied *pipeline.Applied
	// foreign reports whether Trellis did not write the objects.
	foreign bool
	// rewritten reports whether Trellis wrote the objects once, and another extension since.
	rewritten bool
	objects   []located
	// present are the objects in the shoot, for the plugin's precondition.
	present []unstructured.Unstructured
	// environment is the operator's.
	environment plugin.Environment
	// request returns the Request of the network after the change.
	request func(*extensionsv1alpha1.Network, *corev1beta1.Shoot) (pipeline.Request, error)
}

// to returns the plan for a change to the wanted network; nil stands for the network's own spec.
func (r *running) to(p *pipeline.Pipeline, wanted *manifest.Subject) (*plan, error) {
	made := &plan{old: r.old, new: candidate{name: r.old.name}}
	after, shoot, author := r.network, r.shoot, pipeline.AuthorNetwork
	if wanted != nil {
		var err error
		if after, shoot, err = r.with(p, wanted); err != nil {
			return nil, err
		}
		author = wanted.Author
		made.new = candidate{source: wanted.Source, name: wanted.String(), warnings: wanted.Contradictions()}
	}
	request, err := r.request(after, shoot)
	if err != nil {
		return nil, err
	}
	request.Author, request.Applied = author, r.applied
	if wanted != nil && wanted.Shoot == nil {
		if same, err := jsonequal.Values(after.Spec.ProviderConfig, r.network.Spec.ProviderConfig); err != nil || !same {
			request.Written = nil // the Network has another config than its Shoot
		}
	}
	if r.network.Spec.Type != after.Spec.Type {
		request.Applied = nil // it is the config of another plugin
	}
	made.new.request = request
	before, err := r.request(r.network, r.shoot)
	if err != nil {
		return nil, err
	}
	if before.Spec.Type != request.Spec.Type && request.ChangesType {
		made.result = p.CheckExchange(before, request)
	} else {
		made.result = p.Build(request)
	}
	if r.shoot == nil { // then it is not known which ranges nodes have
		before.Facts.NodeCIDRMaskSize = request.Facts.NodeCIDRMaskSize
	}
	made.refuseFixed(before.Accepted(), &request)
	if len(made.result.Errors) > 0 {
		return made, nil
	}
	objects, err := locate(&made.result.Objects)
	if err != nil {
		return nil, err
	}
	made.differences = differences(r.objects, objects)
	made.unknown = r.foreign && len(made.differences) > 0
	return made, made.warnOfWaiting(r.present)
}

// with returns the running network and its Shoot with the wanted specs.
func (r *running) with(p *pipeline.Pipeline, wanted *manifest.Subject) (*extensionsv1alpha1.Network, *corev1beta1.Shoot, error) {
	after, shoot := r.network.DeepCopy(), r.shoot
	if wanted.Author == pipeline.AuthorConfig {
		after.Spec.Type, after.Spec.ProviderConfig = wanted.Network.Spec.Type, wanted.Network.Spec.ProviderConfig
		if shoot != nil && shoot.Spec.Networking != nil {
			shoot = shoot.DeepCopy()
			shoot.Spec.Networking.Type, shoot.Spec.Networking.ProviderConfig = &after.Spec.Type, after.Spec.ProviderConfig
		}
		return after, shoot, nil
	}
	wanted.Network.Spec.DeepCopyInto(&after.Spec)
	if wanted.Shoot != nil {
		shoot = r.complete(wanted.Shoot)
	}
	if wanted.Author == pipeline.AuthorNetwork {
		after.Annotations = wanted.Network.Annotations
		return after, shoot, nil
	}
	shoot, err := withStated(p, r.shoot, shoot, r.environment)
	if err != nil {
		return nil, nil, err
	}
	if derived, err := pipeline.NetworkForShoot(shoot); err == nil {
		after.Spec = derived.Spec
	}
	after.Spec.Class, after.Spec.CloudProvider = r.network.Spec.Class, r.network.Spec.CloudProvider
	return after, shoot, nil
}

// complete adds to a Shoot what its manifest lacks: the status, and the ranges, families and
// length of the nodes' ranges that the API server has chosen.
func (r *running) complete(shoot *corev1beta1.Shoot) *corev1beta1.Shoot {
	if r.shoot == nil {
		return shoot
	}
	shoot = shoot.DeepCopy()
	if r.live || reflect.DeepEqual(shoot.Status, corev1beta1.ShootStatus{}) {
		shoot.Status = *r.shoot.Status.DeepCopy()
	}
	if from, to := r.shoot.Spec.Kubernetes.KubeControllerManager, &shoot.Spec.Kubernetes.KubeControllerManager; from != nil {
		*to = cmp.Or(*to, &corev1beta1.KubeControllerManager{})
		(*to).NodeCIDRMaskSize = cmp.Or((*to).NodeCIDRMaskSize, from.NodeCIDRMaskSize)
	}
	to, from := shoot.Spec.Networking, r.shoot.Spec.Networking
	if to == nil || from == nil {
		return shoot
	}
	to.Pods, to.Services, to.Nodes = cmp.Or(to.Pods, from.Pods), cmp.Or(to.Services, from.Services), cmp.Or(to.Nodes, from.Nodes)
	if len(to.IPFamilies) == 0 {
		to.IPFamilies = from.IPFamilies
	}
	return shoot
}

const (
	// uidPath is the field that differs only if the clusters do.
	uidPath = "metadata.uid"
	// ofOneCluster completes the error about a mismatch.
	ofOneCluster = "; plan compares networks of one cluster"
)

// mismatchOf returns the most certain sign that two networks are of different clusters, as an
// error in a field of the new one, or nil. place is where the old one is. A field that one of
// them does not set is no sign.
func mismatchOf(old, next *manifest.Subject, place string) (found *field.Error) {
	compare := func(path, was, is, other, of string) {
		if found == nil && was != "" && is != "" && was != is {
			found = field.Invalid(field.NewPath(path), is, fmt.Sprintf("this is %s, but %s has %s", of, place, other))
		}
	}
	nameOf := func(kind string, object metav1.Object) string {
		return "the " + kind + " " + cache.MetaObjectToName(object).String()
	}
	names := func(kind string, was, is metav1.Object) {
		other, of := nameOf(kind, was), nameOf(kind, is)
		compare("metadata.name", was.GetName(), is.GetName(), other, of)
		if was.GetNamespace() != metav1.NamespaceDefault && is.GetNamespace() != metav1.NamespaceDefault { // it may be assumed
			compare("metadata.namespace", was.GetNamespace(), is.GetNamespace(), other, of)
		}
	}
	if next.Author == pipeline.AuthorConfig {
		return nil // it names no cluster
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

// deployed makes the Request of a running network one for the IP families that are deployed,
// as its status states: the second may be to come.
func deployed(request *pipeline.Request, network *extensionsv1alpha1.Network) {
	now, wanted := network.Status.IPFamilies, request.Spec.IPFamilies
	if len(now) == 1 && len(wanted) == 2 && now[0] == wanted[0] {
		request.Facts.IPFamilies = now
	}
}
