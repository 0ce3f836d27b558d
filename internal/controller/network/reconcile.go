// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/seed"
	"github.com/trellis-network/trellis/internal/state"
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
		return ctrl.Result{}, r.withoutCluster(ctx, n, known, err)
	}
	if last := shoot.Status.LastOperation; last != nil && last.State == corev1beta1.LastOperationStateFailed {
		return ctrl.Result{}, nil // Gardener leaves a failed shoot alone, and so must its extensions
	}
	w := &work{Reconciler: r, network: n, cluster: cluster, shoot: shoot, settled: known.settled}
	if w.managed, err = r.managedOf(ctx, n.Namespace, n.Spec.Type); err != nil {
		return ctrl.Result{}, err
	}
	if known.misses(w.managed) {
		known.lags++
		r.memories.Store(request.NamespacedName, known)
		return ctrl.Result{RequeueAfter: cacheLag}, nil
	}
	result, err := w.step(ctx)
	r.memories.Store(request.NamespacedName, memory{uid: n.UID, version: n.ResourceVersion, settled: err == nil, written: w.written})
	switch {
	case isGone(err):
		return ctrl.Result{}, nil
	case seed.IsStale(err):
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	return result, err
}

// isGone says that a write came too late for its Network.
func isGone(err error) bool {
	var answer apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &answer) {
		return false
	}
	details := answer.Status().Details
	return details != nil && details.Group == extensionsv1alpha1.GroupVersion.Group && details.Kind == "networks"
}

// leftAlone says whether nothing may be done for a Network: its state is still
// being written, or its control plane has left this seed. Then even its deletion
// must not reach the shoot, which another seed looks after by now.
func leftAlone(n *extensionsv1alpha1.Network) bool {
	if n.Annotations[extensionsv1alpha1.OperationAnnotation] == extensionsv1alpha1.OperationWaitForState {
		return true
	}
	kind := operationType(n)
	return migrated(n) && kind != corev1beta1.LastOperationTypeMigrate && kind != corev1beta1.LastOperationTypeRestore
}

// work is one Network under reconciliation.
type work struct {
	*Reconciler
	network *extensionsv1alpha1.Network
	cluster *extensionsv1alpha1.Cluster
	shoot   *corev1beta1.Shoot
	// managed are the ManagedResources of the Network's bundles.
	managed managed
	// settled says that this process has worked the Network through before. One
	// that is not, and has not succeeded, was left unfinished by another process.
	settled bool
	// written are the ManagedResources that this reconciliation has written.
	written []writing
}

func (w *work) step(ctx context.Context) (ctrl.Result, error) {
	n := w.network
	switch {
	case operationType(n) == corev1beta1.LastOperationTypeMigrate:
		return w.migrate(ctx)
	case !n.DeletionTimestamp.IsZero():
		if !controllerutil.ContainsFinalizer(n, extensionsv1alpha1.NetworkFinalizer) {
			return ctrl.Result{}, nil
		}
		return w.remove(ctx)
	}
	if operationOf(n) == "" {
		if err := w.refreshWebhook(ctx); err != nil {
			return ctrl.Result{}, err
		}
	}
	switch {
	case w.pickUpSpec():
		return w.reconcile(ctx)
	default:
		return w.observe(ctx)
	}
}

// pickUpSpec says whether the spec as it is now is to be carried out, or only
// what was written earlier to be observed.
func (w *work) pickUpSpec() bool {
	if w.Trigger == TriggerGeneration || operationOf(w.network) != "" {
		return true
	}
	return !w.settled && !succeeded(w.network)
}

// owes says that a ManagedResource is missing of those that the spec as it is now was
// carried out with: the one before it has only now gone, or somebody has deleted it.
func (w *work) owes(written *state.Written) bool {
	if written.Generation != w.network.Generation {
		return false
	}
	for g, name := range secretsIn(written) {
		if *name != "" && w.managed[g] == nil {
			return true
		}
	}
	return false
}

// asked says whether an operation is asked for that has not begun. The annotation
// of a restoration stays until that has succeeded.
func (w *work) asked() bool {
	switch operationOf(w.network) {
	case extensionsv1alpha1.OperationReconcile:
		return true
	case extensionsv1alpha1.OperationRestore:
		last := w.network.Status.LastOperation
		return last == nil || last.Type != corev1beta1.LastOperationTypeRestore || succeeded(w.network)
	}
	return false
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
		return nil, nil, &undecodable{cluster.Name, err}
	}
	return cluster, shoot, nil
}

// undecodable says that a Cluster is there and cannot be understood.
type undecodable struct {
	cluster string
	err     error
}

// Error implements error.
func (u *undecodable) Error() string {
	return fmt.Sprintf("the Shoot in the Cluster %s cannot be decoded: %v; whoever writes Clusters has to correct it", u.cluster, u.err)
}

// Unwrap returns what is wrong with the Shoot.
func (u *undecodable) Unwrap() error { return u.err }

// withoutCluster ends a reconciliation that lacks its facts. Of a Cluster which is
// not there yet Gardener's contract has an extension say nothing. One that cannot
// be decoded is an error of the Network, if there is anything to do for it.
func (r *Reconciler) withoutCluster(ctx context.Context, n *extensionsv1alpha1.Network, known memory, cause error) error {
	if !errors.As(cause, new(*undecodable)) {
		return cause
	}
	w := &work{Reconciler: r, network: n, settled: known.settled}
	idle := succeeded(n) && !w.pickUpSpec()
	if !n.DeletionTimestamp.IsZero() {
		idle = !controllerutil.ContainsFinalizer(n, extensionsv1alpha1.NetworkFinalizer)
	}
	if idle {
		return nil
	}
	defer func() {
		r.memories.Store(client.ObjectKeyFromObject(n), memory{uid: n.UID, version: n.ResourceVersion})
	}()
	return w.failed(ctx, nil, cause)
}
