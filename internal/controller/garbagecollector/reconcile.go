// SPDX-License-Identifier: Apache-2.0

package garbagecollector

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

const (
	// unreachableRetry is when to look again at a cluster that did not answer.
	unreachableRetry = 5 * time.Minute
	// spread is by which part the periods of clusters differ, so that they do not
	// all come at once.
	spread = 0.1
)

// Reconciler cleans up the cluster, or the part of it, that belongs to a
// control-plane namespace.
type Reconciler struct {
	// client reads from the seed's cache.
	client  client.Client
	options Options
	// target gives access to what is cleaned up.
	target func(ctx context.Context, namespace string) (*target, error)
	// seen has the sightings of each namespace, by its name.
	seen sync.Map
}

var _ reconcile.Reconciler = &Reconciler{}

// target is what is cleaned up.
type target struct {
	client.Client
	// live reads without a cache: what a cache does not show yet may be a
	// reference.
	live client.Reader
	// scope is the one namespace that is looked at; empty means all.
	scope string
	// references adds references that are stated otherwise than by annotations.
	references func(ctx context.Context, t *target, found references) error
	// failure says what an error of the cluster means; nil means what it says.
	failure func(error) error
}

// Reconcile implements reconcile.Reconciler. It makes one pass, and says when the
// next one is due: earlier than the period if something will have been garbage for long
// enough then.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	namespace := request.Name
	if wanted, err := r.isControlPlane(ctx, namespace); !wanted || err != nil {
		if err == nil {
			r.seen.Delete(namespace)
		}
		return reconcile.Result{}, err
	}
	next := reconcile.Result{RequeueAfter: wait.Jitter(r.options.Period, spread)}
	t, err := r.target(ctx, namespace)
	if err != nil {
		return afterFailure(ctx, err, next)
	}
	before, _ := r.seen.Load(namespace)
	known, _ := before.(sightings)
	known, due, err := t.collect(ctx, known, r.options.Clock.Now(), r.options.MinimumAge)
	r.seen.Store(namespace, known)
	if err != nil && t.failure != nil {
		err = t.failure(err)
	}
	if err != nil {
		return afterFailure(ctx, err, next)
	}
	if due > 0 {
		next.RequeueAfter = min(next.RequeueAfter, due)
	}
	return next, nil
}

// afterFailure says when to try again. A shoot that cannot be used is no news:
// whoever applies objects there tells of it.
func afterFailure(ctx context.Context, err error, next reconcile.Result) (reconcile.Result, error) {
	if errors.As(err, new(*shootclient.NoAccessError)) || errors.As(err, new(*shootclient.RefusedError)) {
		return next, nil
	}
	if errors.As(err, new(*shootclient.UnreachableError)) {
		log.FromContext(ctx).V(1).Info("Nothing was collected", "cause", err.Error())
		return reconcile.Result{RequeueAfter: unreachableRetry}, nil
	}
	return reconcile.Result{}, err
}

// isControlPlane says whether a namespace has a cluster's control plane, or objects
// for one.
func (r *Reconciler) isControlPlane(ctx context.Context, namespace string) (bool, error) {
	err := r.client.Get(ctx, client.ObjectKey{Name: namespace}, &extensionsv1alpha1.Cluster{})
	if !apierrors.IsNotFound(err) {
		return err == nil, err
	}
	list := &resourcesv1alpha1.ManagedResourceList{}
	err = r.client.List(ctx, list, client.InNamespace(namespace))
	return len(list.Items) > 0, err
}
