// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
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
	if n.Annotations[extensionsv1alpha1.OperationAnnotation] == extensionsv1alpha1.OperationWaitForState {
		return ctrl.Result{}, nil
	}
	w := &work{Reconciler: r, network: n, kind: operationType(n), demand: demandOf(n), known: r.memoryOf(n)}
	if w.known.isNewerThan(n) {
		return ctrl.Result{RequeueAfter: cacheLag}, nil
	}
	defer func() { r.memories.Store(request.NamespacedName, w.known) }()
	limited, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	result, err := w.run(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = w.gaveUp(ctx, err)
	}
	switch {
	case isGone(err):
		return ctrl.Result{}, nil
	case seed.IsStale(err), errors.Is(err, errOvertaken):
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	return result, err
}

// demand is a version of a spec, and who has last asked for what to be done with it.
type demand struct {
	generation      int64
	operation, when string
}

func demandOf(n *extensionsv1alpha1.Network) demand {
	return demand{n.Generation, operationOf(n), n.Annotations[extensionsv1alpha1.TimestampAnnotation]}
}

// errOvertaken says that something else was asked for while a reconciliation began, so
// that it would take the newer request away and carry out the older one.
var errOvertaken = errors.New("something else has been asked for meanwhile")

// isGone says that a write came too late for its Network.
func isGone(err error) bool {
	var answer apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &answer) {
		return false
	}
	details := answer.Status().Details
	return details != nil && details.Group == extensionsv1alpha1.GroupVersion.Group && details.Kind == "networks"
}

// hasLeft says whether a Network's control plane has left this seed. Then even its
// deletion must not reach the shoot, which another seed looks after by now.
func hasLeft(n *extensionsv1alpha1.Network) bool {
	kind := operationType(n)
	return migrated(n) && kind != corev1beta1.LastOperationTypeMigrate && kind != corev1beta1.LastOperationTypeRestore
}

// work is one Network under reconciliation.
type work struct {
	*Reconciler
	network *extensionsv1alpha1.Network
	// kind is the type of the operation that is carried out, which nothing that is asked
	// for meanwhile becomes.
	kind corev1beta1.LastOperationType
	// demand is what the Network asked for when the reconciliation began.
	demand  demand
	cluster *extensionsv1alpha1.Cluster
	shoot   *corev1beta1.Shoot
	// managed are the ManagedResources of the Network's bundles.
	managed managed
	// lost says of which of them the Secret is gone.
	lost [seed.Groups]bool
	// known is what the process knew of the Network before, and, in the end, what it
	// knows now.
	known memory
	// written are the bundles that this reconciliation has written.
	written []writing
}

// run finds out what concerns the Network and takes it a step further. It leaves in
// known what it has learnt.
func (w *work) run(ctx context.Context) (result ctrl.Result, err error) {
	defer func() { w.known.uid, w.known.version = w.network.UID, w.network.ResourceVersion }()
	if hasLeft(w.network) {
		return ctrl.Result{}, w.consume(ctx)
	}
	if w.cluster, w.shoot, err = w.clusterOf(ctx, w.network); err != nil {
		return ctrl.Result{}, w.withoutCluster(ctx, err)
	}
	if last := w.shoot.Status.LastOperation; last != nil && last.State == corev1beta1.LastOperationStateFailed {
		// Gardener leaves a failed shoot alone, and so must its extensions.
		w.known.owed = false
		return ctrl.Result{}, w.consume(ctx)
	}
	if err := w.findManaged(ctx, w.cached); err != nil {
		return ctrl.Result{}, err
	}
	if w.known.misses(w.managed, w.lost) {
		w.known.lags++
		return ctrl.Result{RequeueAfter: cacheLag}, nil
	}
	if result, err = w.step(ctx); err == nil {
		err = w.deleteSuperseded(ctx)
	}
	w.known = memory{settled: err == nil, written: w.written, owed: err != nil && w.known.owed}
	return result, err
}

// findManaged finds out which ManagedResources are there, and which have lost their Secret.
func (w *work) findManaged(ctx context.Context, in client.Reader) (err error) {
	if w.managed, err = w.managedOf(ctx, in, w.network.Namespace, w.network.Spec.Type); err != nil {
		return err
	}
	w.lost, err = w.lostBundles(ctx, in)
	return err
}

// deleteSuperseded deletes the Secrets that the bundles do not need any more, where
// Gardener's garbage collector does not. Until the Network has succeeded they stay, and so
// they do if this reconciliation has written bundles, which the ManagedResources at hand do
// not show.
func (w *work) deleteSuperseded(ctx context.Context) error {
	definition, known := w.Pipeline.Plugin(w.network.Spec.Type)
	if !known || !w.Standalone || !succeeded(w.network) || migrated(w.network) || len(w.written) > 0 {
		return nil
	}
	there := map[string]*resourcesv1alpha1.ManagedResource{}
	for g, mr := range w.managed {
		there[seed.Group(g).ManagedResource(&definition)] = mr
	}
	return bundle.DeleteSuperseded(ctx, w.client, w.cached, w.network.Namespace, there)
}

// consume takes a request to reconcile away to which nothing comes: by Gardener's
// contract one is gone before anybody looks whether there is something to do. What
// else the annotation may ask for stays.
func (w *work) consume(ctx context.Context) error {
	return client.IgnoreNotFound(w.answer(ctx, extensionsv1alpha1.OperationReconcile))
}

func (w *work) step(ctx context.Context) (ctrl.Result, error) {
	n := w.network
	migrates := w.kind == corev1beta1.LastOperationTypeMigrate
	if migrates || !n.DeletionTimestamp.IsZero() {
		if err := w.consume(ctx); err != nil {
			return ctrl.Result{}, err
		}
	}
	switch {
	case migrates:
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
	if w.Trigger == TriggerGeneration || operationOf(w.network) != "" || w.known.owed {
		return true
	}
	return !w.known.settled && !succeeded(w.network)
}

// owes says that a ManagedResource, or its Secret, is missing of those that the spec as
// it is now was carried out with: the one before it has only now gone, or somebody has
// deleted it. Or there is one too many, which the cache did not show yet when the others
// were written.
func (w *work) owes(written *state.Written) bool {
	if written.Generation != w.network.Generation {
		return false
	}
	for g, name := range secretsIn(written) {
		mr := w.managed[g]
		switch {
		case *name != "" && (mr == nil || w.lost[g]), *name == "" && mr != nil && mr.DeletionTimestamp.IsZero():
			return true
		}
	}
	return false
}

// asked says whether an operation is asked for that has not begun. The annotation
// of a restoration stays until that has succeeded.
func (w *work) asked() bool {
	if w.known.owed {
		return true
	}
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
// not there yet Gardener's contract has an extension say nothing: a request is
// remembered, and not left to wait for it. One that cannot be decoded is an error of
// the Network, if there is anything to do for it.
func (w *work) withoutCluster(ctx context.Context, cause error) error {
	n := w.network
	w.known.owed = w.known.owed || operationOf(n) == extensionsv1alpha1.OperationReconcile
	if err := w.consume(ctx); err != nil {
		return err
	}
	if !errors.As(cause, new(*undecodable)) {
		return cause
	}
	idle := succeeded(n) && !w.pickUpSpec()
	if !n.DeletionTimestamp.IsZero() {
		idle = !controllerutil.ContainsFinalizer(n, extensionsv1alpha1.NetworkFinalizer)
	}
	if idle {
		return nil
	}
	w.known.settled = false
	return w.failed(ctx, nil, cause)
}

// statusTimeout bounds the one request that tells of a reconciliation which took too
// long.
const statusTimeout = 10 * time.Second

// gaveUp tells what a reconciliation was about when its time was up.
func (w *work) gaveUp(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	defer func() { w.known.version = w.network.ResourceVersion }()
	return w.failed(ctx, nil, fmt.Errorf("not done within %s: %w", w.Timeout, cause))
}
