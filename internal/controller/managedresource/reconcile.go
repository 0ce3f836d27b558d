// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// conflictDelay is how long to wait for the cache after somebody else was faster
// in writing a ManagedResource.
const conflictDelay = 200 * time.Millisecond

// Reconciler carries out ManagedResources.
type Reconciler struct {
	// client reads ManagedResources and the metadata of Secrets from a cache.
	client client.Client
	// secrets reads Secrets without a cache.
	secrets  client.Reader
	options  Options
	memory   memory
	absences absences
	crowd    crowd
}

var _ reconcile.Reconciler = &Reconciler{}

// pass is one reconciliation of one ManagedResource.
type pass struct {
	*Reconciler
	log logr.Logger
	// mr is the ManagedResource, with the status as it is to become.
	mr *resourcesv1alpha1.ManagedResource
	// written is mr as it was last read or written.
	written *resourcesv1alpha1.ManagedResource
	record  *record
	// same says which kinds are equivalent.
	same equivalence
	// before is the inventory as the pass found it, by what stands for each object.
	before map[identity]*reference
	shoot  *shootclient.Shoot
	// missed says that the pass has reported an object as missing.
	missed bool
	// again is when to look again, if earlier than the sync period.
	again time.Duration
	// released says that the ManagedResource is no longer ours to write to.
	released bool
}

// Reconcile implements reconcile.Reconciler. It makes one pass and writes the
// status once at its end, if it has changed. Before new content is applied for
// the first time there is one more write, of the inventory.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (result reconcile.Result, err error) {
	mr := &resourcesv1alpha1.ManagedResource{}
	if err := r.client.Get(ctx, request.NamespacedName, mr); err != nil {
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, r.gone(ctx, request)
		}
		return reconcile.Result{}, err
	}
	leave, welcome := r.crowd.join(request.Namespace, r.options.Clock.Now())
	if !welcome {
		return reconcile.Result{RequeueAfter: crowdedRetry}, nil
	}
	defer func() { leave(r.options.Clock.Now()) }()
	p := r.newPass(ctx, mr)
	defer func() {
		if ctx.Err() != nil {
			// The process is about to end; that is nobody's failure.
			return
		}
		writeErr := p.writeStatus(ctx)
		if err == nil {
			err = writeErr
		}
		if apierrors.IsConflict(err) {
			result, err = reconcile.Result{RequeueAfter: conflictDelay}, nil
		}
	}()

	limited, cancel := context.WithTimeout(ctx, r.options.passTimeout())
	defer cancel()
	switch {
	case !p.isOurs() && !p.isHeld():
		return reconcile.Result{}, nil
	case p.isIgnored():
		p.ignored()
		return reconcile.Result{}, nil
	case p.isDeleted() || p.isTransferred():
		err = p.remove(limited)
	case p.isHeldByOther():
		return reconcile.Result{}, nil
	default:
		err = p.carryOut(limited)
	}
	return p.conclude(err)
}

func (r *Reconciler) newPass(ctx context.Context, mr *resourcesv1alpha1.ManagedResource) *pass {
	p := &pass{
		Reconciler: r, log: log.FromContext(ctx), mr: mr, written: mr.DeepCopy(),
		record: r.memory.of(client.ObjectKeyFromObject(mr), mr.UID), same: newEquivalence(mr.Spec.Equivalences),
		before: map[identity]*reference{},
	}
	for i := range p.written.Status.Resources {
		ref := p.written.Status.Resources[i]
		p.before[p.same.of(identityOf(&ref))] = &ref
	}
	return p
}

// conclude turns the error of a pass into conditions and into when to try again.
func (p *pass) conclude(err error) (reconcile.Result, error) {
	if err == nil {
		after := p.options.SyncPeriod
		if p.again > 0 && p.again < after {
			after = p.again
		}
		if p.released {
			after = 0
		}
		return reconcile.Result{RequeueAfter: after}, nil
	}
	var waiting *pending
	if errors.As(err, &waiting) {
		p.setApplied(corev1beta1.ConditionProgressing, reasonDeletionPending, waiting.message)
		return reconcile.Result{RequeueAfter: p.options.DeletionInterval}, nil
	}
	var failed *failure
	if !errors.As(err, &failed) {
		return reconcile.Result{}, err
	}
	codes := failed.codesOf()
	p.setApplied(corev1beta1.ConditionFalse, failed.reason, failed.Error(), codes...)
	p.unjudged(failed)
	if len(codes) > 0 {
		p.log.Info("The ManagedResource cannot be carried out as it is", "reason", failed.reason, "cause", failed.Error())
		return reconcile.Result{RequeueAfter: p.options.SyncPeriod}, nil
	}
	return reconcile.Result{}, err
}

// writeStatus patches the status if it has changed. The patch is refused if the
// ManagedResource is not the one that the pass is about any more: an inventory
// must never be replaced by one which knows less.
func (p *pass) writeStatus(ctx context.Context) error {
	if p.released || apiequality.Semantic.DeepEqual(p.written.Status, p.mr.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(p.written, client.MergeFromWithOptimisticLock{})
	if err := p.client.Status().Patch(ctx, p.mr, patch); err != nil {
		return client.IgnoreNotFound(err)
	}
	p.written = p.mr.DeepCopy()
	return nil
}

// gone forgets a ManagedResource that does not exist, and the shoot if it was
// the last one there.
func (r *Reconciler) gone(ctx context.Context, request reconcile.Request) error {
	r.memory.forget(request.NamespacedName)
	list := &resourcesv1alpha1.ManagedResourceList{}
	if err := r.client.List(ctx, list, client.InNamespace(request.Namespace)); err != nil {
		return err
	}
	for i := range list.Items {
		if ClassOf(&list.Items[i]) == r.options.Class {
			return nil
		}
	}
	r.crowd.forget(request.Namespace)
	r.options.Shoots.Forget(request.Namespace)
	return nil
}
