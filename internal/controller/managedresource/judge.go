// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// settleTime is when to look again at objects whose new state the cache does not
// have yet.
const settleTime = time.Second

// othersInterval is when to look again at an object that is left to others and not
// in good order: it does not say whose it is, so its changes wake nobody.
const othersInterval = 5 * time.Second

// verdict is the first problem of each sort, in the order of the inventory.
type verdict struct {
	unhealthyKind, unhealthy     string
	progressingKind, progressing string
	// unsettled says that the cache does not show yet what was applied.
	unsettled bool
	// unannounced says that an object of which no event tells is part of it.
	unannounced bool
}

// judge sets the conditions for health and progress from the cache. They stay
// as they are while the cache is behind; then it says when to look again.
func (p *pass) judge(ctx context.Context) (again time.Duration, err error) {
	v := &verdict{}
	for i := range p.mr.Status.Resources {
		ref := &p.mr.Status.Resources[i]
		if ref.Annotations[resourcesv1alpha1.SkipHealthCheck] == "true" {
			continue
		}
		if err := p.consider(ctx, ref, v); err != nil {
			return 0, err
		}
	}
	if v.unsettled {
		return settleTime, nil
	}
	if v.unhealthy != "" {
		p.setHealthy(corev1beta1.ConditionFalse, v.unhealthyKind+suffixUnhealthy, v.unhealthy)
	} else {
		p.setHealthy(corev1beta1.ConditionTrue, reasonResourcesHealthy, "All resources are healthy.")
	}
	if v.progressing != "" {
		p.setProgressing(corev1beta1.ConditionTrue, v.progressingKind+suffixProgressing, v.progressing)
	} else {
		p.setProgressing(corev1beta1.ConditionFalse, reasonResourcesRolled, "All resources have been fully rolled out.")
	}
	if v.unannounced {
		return othersInterval, nil
	}
	return 0, nil
}

// consider looks at one object, which the pass has just found to exist.
func (p *pass) consider(ctx context.Context, ref *reference, v *verdict) error {
	if truthy(ref.Annotations[resourcesv1alpha1.Ignore]) {
		return p.considerOthers(ctx, ref, v)
	}
	id := identityOf(ref)
	last, applied := p.record.seen[id]
	if !applied {
		return nil
	}
	object, err := p.shoot.Cached(ctx, kindOf(ref), id.NamespacedName)
	if apierrors.IsNotFound(err) || err == nil && (object.GetUID() != last.uid || object.GetGeneration() < last.generation) {
		v.unsettled = true
		return nil
	}
	if err != nil {
		return p.shoot.Failure(err)
	}
	return p.note(ctx, id, object, v)
}

// considerOthers looks at an object that was created once and is left to others
// since. It may lack the label which the cache selects by.
func (p *pass) considerOthers(ctx context.Context, ref *reference, v *verdict) error {
	id := identityOf(ref)
	object, err := p.shoot.Cached(ctx, kindOf(ref), id.NamespacedName)
	if apierrors.IsNotFound(err) && shootclient.Whole(kindOf(ref)) {
		object, err = p.shoot.Live(ctx, kindOf(ref), id.NamespacedName)
	}
	if err != nil {
		return p.shoot.Failure(client.IgnoreNotFound(err))
	}
	v.unannounced = v.unannounced || unhealthy(object) != "" || progressing(object) != ""
	return p.note(ctx, id, object, v)
}

// note takes down what is wrong with an object, and how it is rolled out, unless
// the same is known of another one.
func (p *pass) note(ctx context.Context, id identity, object client.Object, v *verdict) error {
	if problem := unhealthy(object); problem != "" && v.unhealthy == "" {
		warnings, err := p.warnings(ctx, id)
		if err != nil {
			return err
		}
		v.unhealthyKind, v.unhealthy = id.Kind, capped(fmt.Sprintf("%s %s%s.", id, problem, warnings))
	}
	if progress := progressing(object); progress != "" && v.progressing == "" {
		v.progressingKind, v.progressing = id.Kind, capped(fmt.Sprintf("%s %s.", id, progress))
	}
	return nil
}

// unjudged keeps the conditions for health and progress from saying what is not
// known any more, since nothing is judged until all objects are applied. That an
// object is missing is known, if it is the failed pass which has found that out.
func (p *pass) unjudged(failed *failure) {
	switch {
	case p.isDeleted() || p.isTransferred():
	case isAboutShoot(failed):
		p.cannotJudge(failed.err)
	default:
		if !p.missed {
			p.setHealthy(corev1beta1.ConditionUnknown, reasonChecksPending, messageChecksPending)
		}
		p.setProgressing(corev1beta1.ConditionUnknown, reasonChecksPending, messageChecksPending)
	}
}

// cannotJudge says in the conditions why nothing is known about the objects.
func (p *pass) cannotJudge(err error) {
	message := "The objects cannot be looked at: " + err.Error()
	p.setHealthy(corev1beta1.ConditionUnknown, reasonHealthCheckError, message)
	p.setProgressing(corev1beta1.ConditionUnknown, reasonHealthCheckError, message)
}
