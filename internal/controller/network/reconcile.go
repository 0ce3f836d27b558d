// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// Reconcile takes one Network a step further. What it has to do follows from the
// objects alone, so that it may be interrupted anywhere.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	n := &extensionsv1alpha1.Network{}
	if err := r.client.Get(ctx, request.NamespacedName, n); err != nil {
		r.memories.Delete(request.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if leftAlone(n) {
		return ctrl.Result{}, nil
	}
	known := r.memoryOf(n)
	if known.isNewerThan(n) {
		return ctrl.Result{RequeueAfter: cacheLag}, nil
	}
	cluster, shoot, err := r.clusterOf(ctx, n)
	if err != nil {
		return ctrl.Result{}, err
	}
	if last := shoot.Status.LastOperation; last != nil && last.State == corev1beta1.LastOperationStateFailed {
		return ctrl.Result{}, nil // Gardener leaves a failed shoot alone, and so must its extensions
	}
	w := &work{Reconciler: r, network: n, cluster: cluster, shoot: shoot, settled: known.settled}
	if w.mr, err = r.managedResourceOf(ctx, n); err != nil {
		return ctrl.Result{}, err
	}
	result, err := w.step(ctx)
	r.memories.Store(request.NamespacedName, memory{uid: n.UID, version: n.ResourceVersion, settled: err == nil})
	return result, err
}

// cacheLag is how long the cache may be behind what was just written.
const cacheLag = 50 * time.Millisecond

// memory is what a process knows of a Network that it has worked on.
type memory struct {
	uid     types.UID
	version string // the resource version that this process has written or read last
	settled bool   // whether the last reconciliation went through
}

func (r *Reconciler) memoryOf(n *extensionsv1alpha1.Network) memory {
	if known, ok := r.memories.Load(client.ObjectKeyFromObject(n)); ok && known.(memory).uid == n.UID {
		return known.(memory)
	}
	return memory{}
}

// isNewerThan says whether n, from the cache, is older than what this process has
// written. Acting on it would repeat what is done, or overwrite it.
func (m memory) isNewerThan(n *extensionsv1alpha1.Network) bool {
	order, err := resourceversion.CompareResourceVersion(n.ResourceVersion, m.version)
	return m.version != "" && err == nil && order < 0
}

// leftAlone says whether nothing may be done for a Network: its state is still
// being written, or its control plane is on the move, which this controller does
// not take part in yet. Above all, a Network that leaves its seed must not take
// the shoot's objects along.
func leftAlone(n *extensionsv1alpha1.Network) bool {
	switch n.Annotations[extensionsv1alpha1.OperationAnnotation] {
	case extensionsv1alpha1.OperationWaitForState, extensionsv1alpha1.OperationMigrate:
		return true
	case extensionsv1alpha1.OperationRestore:
		return n.DeletionTimestamp.IsZero()
	}
	return false
}

// work is one Network under reconciliation.
type work struct {
	*Reconciler
	network *extensionsv1alpha1.Network
	cluster *extensionsv1alpha1.Cluster
	shoot   *corev1beta1.Shoot
	// mr is the ManagedResource of the Network's bundle, or nil.
	mr *resourcesv1alpha1.ManagedResource
	// settled says that this process has worked the Network through before. One
	// that is not, and has not succeeded, was left unfinished by another process.
	settled bool
}

func (w *work) step(ctx context.Context) (ctrl.Result, error) {
	n := w.network
	switch {
	case !n.DeletionTimestamp.IsZero():
		if !controllerutil.ContainsFinalizer(n, extensionsv1alpha1.NetworkFinalizer) {
			return ctrl.Result{}, nil
		}
		return w.remove(ctx)
	case w.pickUpSpec():
		return w.reconcile(ctx)
	default:
		return w.observe(ctx)
	}
}

// pickUpSpec says whether the spec as it is now is to be carried out, or only
// what was written earlier to be observed.
func (w *work) pickUpSpec() bool {
	if w.Trigger == TriggerGeneration || operationOf(w.network) == extensionsv1alpha1.OperationReconcile {
		return true
	}
	return !w.settled && !succeeded(w.network)
}

// clusterOf returns the Cluster of a Network and the Shoot in it. Gardener's
// contract has a Network wait for its Cluster, even to be deleted.
func (r *Reconciler) clusterOf(ctx context.Context, n *extensionsv1alpha1.Network) (*extensionsv1alpha1.Cluster, *corev1beta1.Shoot, error) {
	cluster := &extensionsv1alpha1.Cluster{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: n.Namespace}, cluster); err != nil {
		return nil, nil, fmt.Errorf("read the Cluster %s, which tells the facts of this network: %w", n.Namespace, err)
	}
	shoot := &corev1beta1.Shoot{}
	if err := json.Unmarshal(cluster.Spec.Shoot.Raw, shoot); err != nil {
		return nil, nil, fmt.Errorf("decode the Shoot in Cluster %s: %w", cluster.Name, err)
	}
	return cluster, shoot, nil
}

// managedResourceOf returns the ManagedResource of a Network's bundle, nil if
// there is none.
func (r *Reconciler) managedResourceOf(ctx context.Context, n *extensionsv1alpha1.Network) (*resourcesv1alpha1.ManagedResource, error) {
	plugin, known := r.Pipeline.Plugin(n.Spec.Type)
	if !known {
		return nil, nil
	}
	mr := &resourcesv1alpha1.ManagedResource{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: n.Namespace, Name: plugin.ManagedResource}, mr)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return mr, err
}
