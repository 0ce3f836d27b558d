// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/cli/internal/manifest"
	"github.com/trellis-network/trellis/internal/jsonequal"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// running is the network that a plan compares with.
type running struct {
	work    work
	network *extensionsv1alpha1.Network
	// shoot is nil if it is unknown.
	shoot *corev1beta1.Shoot
	// live reports whether network and shoot were read from a seed.
	live bool
	// applied is what was applied last, nil if it is unknown.
	applied *pipeline.Applied
	// foreign reports whether Trellis did not write the objects.
	foreign bool
	objects []located
	// present are the objects in the shoot, for the plugin's precondition.
	present []unstructured.Unstructured
	// request returns the Request of the network after the change.
	request func(*extensionsv1alpha1.Network, *corev1beta1.Shoot) (pipeline.Request, error)
}

// to returns the plan for a change to the wanted network. Nil stands for the network's
// own spec.
func (r *running) to(p *pipeline.Pipeline, wanted *manifest.Subject) (*plan, error) {
	next := follower{network: r.network, shoot: r.shoot, author: pipeline.AuthorNetwork}
	made := &plan{old: r.work, new: work{name: r.work.name}}
	if wanted != nil {
		next = r.follower(wanted)
		made.new = work{source: wanted.Source, name: wanted.String(), warnings: next.warnings}
	}
	request, err := r.request(next.network, next.shoot)
	if err != nil {
		return nil, err
	}
	request.Author, request.Applied = next.author, r.applied
	if next.edited {
		request.Written = nil
	}
	if r.network.Spec.Type != next.network.Spec.Type {
		request.Applied = nil // it is the config of another plugin
	}
	made.new.request = request
	made.result = p.Build(request)
	made.refuseFixed(&r.network.Spec, &next.network.Spec, next.author)
	if len(made.result.Errors) > 0 {
		return made, nil
	}
	objects, err := locate(&made.result.Objects)
	if err != nil {
		return nil, err
	}
	made.differences = differences(r.objects, objects)
	made.unknown = r.foreign && len(made.differences) > 0
	made.warnOfWaiting(r.present, request.Facts.Hibernated)
	return made, nil
}

// follower is the network after the change.
type follower struct {
	network  *extensionsv1alpha1.Network
	shoot    *corev1beta1.Shoot
	author   pipeline.Author
	warnings []plugin.Warning
	// edited reports whether the Network has another config than its Shoot.
	edited bool
}

// follower returns the running network with the wanted spec.
func (r *running) follower(wanted *manifest.Subject) follower {
	next := follower{
		network: r.network.DeepCopy(), shoot: wanted.Shoot, author: wanted.Author,
		warnings: wanted.Contradictions(),
	}
	spec := wanted.Network.Spec.DeepCopy()
	switch {
	case wanted.Shoot == nil:
		next.shoot = r.shoot
		next.edited = !sameConfig(spec, &r.network.Spec)
	case wanted.Author == pipeline.AuthorShoot:
		next.shoot = r.complete(wanted.Shoot)
		if derived, err := pipeline.NetworkForShoot(next.shoot); err == nil {
			spec = &derived.Spec
		}
		spec.Class, spec.CloudProvider = r.network.Spec.Class, r.network.Spec.CloudProvider
	default:
		next.shoot = r.complete(wanted.Shoot)
	}
	next.network.Spec = *spec
	if wanted.Author == pipeline.AuthorNetwork {
		next.network.Annotations = wanted.Network.Annotations
	}
	return next
}

// complete adds to a Shoot what its manifest lacks: the status, and the ranges and
// families that the API server has chosen.
func (r *running) complete(shoot *corev1beta1.Shoot) *corev1beta1.Shoot {
	if r.shoot == nil {
		return shoot
	}
	shoot = shoot.DeepCopy()
	if r.live || reflect.DeepEqual(shoot.Status, corev1beta1.ShootStatus{}) {
		shoot.Status = *r.shoot.Status.DeepCopy()
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

// sameConfig reports whether two specs have the same config, however it is written.
func sameConfig(one, other *extensionsv1alpha1.NetworkSpec) bool {
	same, err := jsonequal.Values(one.ProviderConfig, other.ProviderConfig)
	return err == nil && same
}
