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
)

// settleTime is when to look again at objects whose new state the cache does not
// have yet.
const settleTime = time.Second

// verdict is the first problem of each sort, in the order of the inventory.
type verdict struct {
	unhealthyKind, unhealthy     string
	progressingKind, progressing string
	// unsettled says that the cache does not show yet what was applied.
	unsettled bool
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
	return 0, nil
}

// consider looks at one object, which the pass has just found to exist.
func (p *pass) consider(ctx context.Context, ref *reference, v *verdict) error {
	id := identityOf(ref)
	last, applied := p.record.seen[id]
	if !applied {
		// Created once and then left to others: it may lack the label that the cache
		// selects by, and nobody promises anything about it.
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
	v.note(id, object)
	return nil
}

func (v *verdict) note(id identity, object client.Object) {
	if problem := unhealthy(object); problem != "" && v.unhealthy == "" {
		v.unhealthyKind, v.unhealthy = id.Kind, fmt.Sprintf("%s %s.", id, problem)
	}
	if progress := progressing(object); progress != "" && v.progressing == "" {
		v.progressingKind, v.progressing = id.Kind, fmt.Sprintf("%s %s.", id, progress)
	}
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
