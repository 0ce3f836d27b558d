// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/pipeline"
)

// Reconciler reconciles Shoots.
type Reconciler struct {
	// client reads from caches, and writes.
	client client.Client
	// live reads from the API server whether something is gone. A late cache would not
	// show what was just created, and what is deleted too early (the kubeconfig, the
	// Cluster) can't be deleted properly again.
	live          client.Reader
	owners        owners
	access        access
	prerequisites prerequisites
	reporter      *reporter
}

var _ reconcile.Reconciler = &Reconciler{}

func newReconciler(mgr manager.Manager, clock clock.PassiveClock) *Reconciler {
	return &Reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), owners: owners{mgr.GetClient()},
		access:        access{client: mgr.GetClient(), metadata: mgr.GetCache(), live: mgr.GetAPIReader()},
		prerequisites: prerequisites{mgr.GetClient()},
		reporter: &reporter{
			client: mgr.GetClient(), recorder: mgr.GetEventRecorder("trellis-" + ControllerName), clock: clock,
		},
	}
}

// stage is one step of a run. Its name is the taskID of its errors in the Shoot's status.
type stage = outcome.Stage[*run]

// awaitingNetwork is the stage whose errors are the Network's.
const awaitingNetwork = "Waiting for the Network"

// reconciliation creates the control plane of a Shoot, and keeps it up to date.
func (r *Reconciler) reconciliation() []stage {
	return []stage{
		{Name: "Establishing the identity of the Shoot", Run: r.establishIdentity},
		{Name: "Deploying the control-plane namespace", Run: r.deployNamespace},
		{Name: "Taking over the access to the shoot", Run: r.takeOverAccess},
		{Name: "Deploying the Cluster", Run: r.deployCluster},
		{Name: "Deploying the prerequisites", Run: r.prerequisites.deploy},
		{Name: "Deploying the Network", Run: r.deployNetwork},
		{Name: awaitingNetwork, Run: r.awaitNetwork},
		{Name: "Waiting for the prerequisites", Run: r.prerequisites.await},
	}
}

// recreation waits until a control-plane namespace is gone that a user deleted although
// the Shoot stays. Everything in it is being deleted, and with it everything in the
// shoot, which takes the kubeconfig and the Cluster. Then a reconciliation creates all
// of it again.
func (r *Reconciler) recreation() []stage {
	return []stage{
		{Name: "Establishing the identity of the Shoot", Run: r.establishIdentity},
		{Name: "Finding what the control plane has", Run: r.findDependents},
		{Name: "Keeping the access to the shoot", Run: ifNeeded(r.keepAccess)},
		{Name: "Keeping the Cluster", Run: ifNeeded(r.deployCluster)},
		{Name: "Releasing the access to the shoot", Run: r.releaseAccess},
		{Name: "Waiting for the control-plane namespace", Run: r.awaitNamespaceGone},
	}
}

// deletion deletes the control plane of a Shoot that is being deleted. Each object is
// deleted once nothing needs it any longer.
func (r *Reconciler) deletion() []stage {
	return []stage{
		{Name: "Finding what the control plane has", Run: r.findDependents},
		{Name: "Keeping the access to the shoot", Run: ifNeeded(r.keepAccess)},
		{Name: "Keeping the Cluster", Run: ifNeeded(r.deployCluster)},
		{Name: "Deleting the Network", Run: r.deleteNetworks},
		{Name: "Deleting the ManagedResources", Run: r.deleteManagedResources},
		{Name: "Deleting the access to the shoot", Run: r.deleteAccess},
		{Name: "Releasing the access to the shoot", Run: r.releaseAccess},
		{Name: "Deleting the control plane", Run: r.deleteControlPlane},
		{Name: "Releasing the Shoot", Run: r.removeFinalizer},
	}
}

// stagesFor returns what must be done for a Shoot now.
func (r *Reconciler) stagesFor(run *run) []stage {
	switch {
	case isDeleting(run.shoot) && run.isForeign():
		return []stage{{Name: "Releasing the Shoot", Run: r.removeFinalizer}}
	case isDeleting(run.shoot):
		return r.deletion()
	case run.isRecreating():
		return r.recreation()
	}
	return r.reconciliation()
}

// run is one reconciliation of one Shoot. Each stage adds what it found.
type run struct {
	// shoot has the status that the run ends with, stored the one that the API server has.
	shoot, stored *corev1beta1.Shoot
	// before is the Shoot's last operation as the run began.
	before *corev1beta1.LastOperation
	// namespace is the name of the control-plane namespace; controlPlane is its metadata,
	// nil if it does not exist.
	namespace    string
	controlPlane *metav1.PartialObjectMetadata
	// network is the Shoot's, nil if there is none.
	network *extensionsv1alpha1.Network
	// apiServer is the address of the shoot's API server, once it is known.
	apiServer string
	// networks and managed are what is in a control-plane namespace that is being deleted.
	networks []extensionsv1alpha1.Network
	managed  []resourcesv1alpha1.ManagedResource
	// released reports that the finalizer was removed, so that nothing must be written.
	released bool
}

// newRun reads the control-plane namespace and, if it is this Shoot's, the Network. For a
// deletion it reads from the API server: see Reconciler.live.
func (r *Reconciler) newRun(ctx context.Context, shoot *corev1beta1.Shoot) (*run, error) {
	next := &run{
		stored: shoot, shoot: shoot.DeepCopy(), before: shoot.Status.LastOperation, namespace: pipeline.ControlPlaneNamespace(shoot),
	}
	reader := client.Reader(r.client)
	if isDeleting(shoot) {
		reader = r.live
	}
	controlPlane := partialMetadata("Namespace")
	if err := reader.Get(ctx, client.ObjectKey{Name: next.namespace}, controlPlane); err != nil {
		return next, client.IgnoreNotFound(err)
	}
	next.controlPlane = controlPlane
	if next.isForeign() {
		return next, nil
	}
	network := &extensionsv1alpha1.Network{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: next.namespace, Name: shoot.Name}, network); err != nil {
		return next, client.IgnoreNotFound(err)
	}
	next.network = network
	return next, nil
}

// owner is the value of ShootAnnotation for this Shoot.
func (run *run) owner() string { return run.shoot.Namespace + "/" + run.shoot.Name }

// isForeign reports whether the control-plane namespace exists and is not this Shoot's.
func (run *run) isForeign() bool {
	return run.controlPlane != nil && run.controlPlane.Annotations[ShootAnnotation] != run.owner()
}

// isRecreating reports whether the control-plane namespace is being deleted, and must be
// created again.
func (run *run) isRecreating() bool {
	return run.controlPlane != nil && isDeleting(run.controlPlane) && !run.isForeign() && !isDeleting(run.shoot)
}

// networkType is the type that the Shoot states, for logs and metrics.
func (run *run) networkType() string {
	if n := run.shoot.Spec.Networking; n != nil && n.Type != nil {
		return *n.Type
	}
	return ""
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	shoot := &corev1beta1.Shoot{}
	if err := r.client.Get(ctx, request.NamespacedName, shoot); err != nil {
		if !apierrors.IsNotFound(err) {
			return reconcile.Result{}, err
		}
		r.reporter.operations.Delete(request.NamespacedName)
		return outcome.TryAgain(r.releaseAbandoned(ctx, request.NamespacedName)).Result()
	}
	if isDeleting(shoot) && !controllerutil.ContainsFinalizer(shoot, finalizer) {
		return reconcile.Result{}, nil
	}
	began := r.reporter.clock.Now()
	run, err := r.newRun(ctx, shoot)
	if err != nil {
		return reconcile.Result{}, err
	}
	ended := ending{stages: r.stagesFor(run)}
	ended.Outcome, ended.done = outcome.Run(ctx, run, ended.stages)
	return r.reporter.report(ctx, run, ended, began)
}

// userError is an error that the user can correct in the Shoot, or in the Secret with the
// kubeconfig.
type userError struct{ error }

// fail returns the outcome for an error: a userError stays until the user changes
// something, any other is retried. A nil error continues.
func fail(err error) outcome.Outcome {
	if user := (userError{}); errors.As(err, &user) {
		return outcome.Fail(err, corev1beta1.ErrorConfigurationProblem)
	}
	return outcome.TryAgain(err)
}

// explained turns the API server's refusal of what the Shoot asks for into a userError.
func explained(err error) error {
	if apierrors.IsInvalid(err) {
		return userError{errors.New(withShootPaths(err.Error()))}
	}
	return err
}

func isDeleting(o client.Object) bool { return !o.GetDeletionTimestamp().IsZero() }
