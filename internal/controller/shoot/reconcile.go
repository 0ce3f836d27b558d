// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// Reconciler reconciles Shoots. It has the lists of stages; the stages are methods of its
// parts.
type Reconciler struct {
	seed
	options       Options
	owners        owners
	others        *others
	identities    identities
	namespaces    namespaces
	access        *access
	clusters      clusters
	prerequisites prerequisites
	networks      networks
	// infrastructures are idle unless Options.Infrastructures has the type of a Shoot.
	infrastructures infrastructures
	contents        contents
	reporter        *reporter
}

var _ reconcile.Reconciler = &Reconciler{}

// seed is where control planes are.
type seed struct {
	// Client reads from caches, and writes.
	client.Client
	// live reads from the API server whether something is gone. A late cache would not
	// show what was just created, and what is deleted too early (the kubeconfig, the
	// Cluster) can't be deleted properly again.
	live client.Reader
	// cached reads the metadata of Secrets from the cache, which Client does not.
	cached client.Reader
}

func newReconciler(mgr manager.Manager, opts Options) *Reconciler {
	s := seed{mgr.GetClient(), mgr.GetAPIReader(), mgr.GetCache()}
	reporter := &reporter{client: s.Client, recorder: mgr.GetEventRecorder("trellis-" + ControllerName), clock: opts.Clock}
	return &Reconciler{
		seed: s, options: opts, owners: owners{s.Client}, others: &others{seed: s, options: opts, reporter: reporter}, identities: identities{s, reporter}, namespaces: namespaces{s, opts.Operator},
		access: &access{seed: s}, clusters: clusters{s}, prerequisites: prerequisites{s},
		networks: networks{s}, infrastructures: infrastructures{s, opts.Infrastructures, opts.Clock}, contents: contents{s}, reporter: reporter,
	}
}

// stage is one step of a run. Its name is the taskID of its errors in the Shoot's status.
type stage = outcome.Stage[*run]

// awaitingNetwork is the stage whose errors are the Network's.
const awaitingNetwork = "Waiting for the Network"

// reconciliation creates the control plane of a Shoot, and keeps it up to date.
func (r *Reconciler) reconciliation(shoot *corev1beta1.Shoot) []stage {
	access := []stage{
		{Name: "Taking over the access to the shoot", Run: r.access.takeOver},
		{Name: "Deploying the Cluster", Run: r.clusters.deploy},
	}
	network := []stage{
		{Name: "Deploying the prerequisites", Run: r.prerequisites.deploy},
		{Name: "Deploying the Network", Run: r.networks.deploy},
		{Name: awaitingNetwork, Run: r.networks.await},
	}
	var before, after []stage
	if r.infrastructures.serve(shoot) {
		// There may be no API server, and no kubeconfig, before the infrastructure.
		before = []stage{
			{Name: "Deploying the Cluster for the Infrastructure", Run: r.clusters.deploy},
			{Name: "Deploying the Infrastructure", Run: r.infrastructures.deploy},
			{Name: "Waiting for the Infrastructure", Run: r.infrastructures.await},
		}
		after = []stage{
			{Name: "Deploying the ControlPlane", Run: r.infrastructures.deployControlPlane},
			{Name: "Waiting for the ControlPlane", Run: r.infrastructures.awaitControlPlane},
		}
	}
	return slices.Concat([]stage{
		{Name: "Establishing the identity of the Shoot", Run: r.identities.establish},
		{Name: "Deploying the control-plane namespace", Run: r.namespaces.deploy},
	}, before, access, network, after, []stage{
		{Name: "Waiting for the prerequisites", Run: r.prerequisites.await},
	})
}

// removal deletes the control plane. Each object is deleted once nothing needs it any
// longer. When a user has deleted the namespace, all of it is being deleted, and with it
// everything in the shoot, which takes the kubeconfig and the Cluster. There may be an
// Infrastructure although the configuration does not list its type any longer.
func (r *Reconciler) removal() []stage {
	return []stage{
		{Name: "Finding what the control plane has", Run: r.contents.find},
		{Name: "Keeping the access to the shoot", Run: ifNeeded(r.access.keep)},
		{Name: "Keeping the Cluster", Run: ifNeeded(r.clusters.deploy)},
		{Name: "Deleting the Network", Run: r.networks.delete},
		{Name: "Deleting the ManagedResources", Run: r.contents.deleteManagedResources},
		{Name: "Deleting the ControlPlane", Run: r.infrastructures.deleteControlPlane},
		{Name: "Deleting the Infrastructure", Run: r.infrastructures.deleteInfrastructure},
		{Name: "Deleting the access to the shoot", Run: r.access.delete},
		{Name: "Deleting the control plane", Run: r.namespaces.delete},
	}
}

// recreation removes a control plane whose namespace a user has deleted although the Shoot
// stays. Then a reconciliation creates all of it again.
func (r *Reconciler) recreation() []stage {
	return append(r.removal(), stage{Name: "Waiting for the end of the namespace", Run: r.namespaces.awaitGone})
}

// deletion removes the control plane of a Shoot that is being deleted, and lets the Shoot go.
func (r *Reconciler) deletion() []stage {
	return append(r.removal(), stage{Name: "Releasing the Shoot", Run: r.identities.release})
}

// stagesFor returns what must be done for a Shoot now.
func (r *Reconciler) stagesFor(run *run) []stage {
	switch {
	case isDeleting(run.shoot) && run.isForeign():
		return []stage{{Name: "Releasing the Shoot", Run: r.identities.release}}
	case isDeleting(run.shoot):
		return r.deletion()
	case run.isRecreating():
		return r.recreation()
	}
	return r.reconciliation(run.shoot)
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
	// infrastructure is the Shoot's Infrastructure, and controlPlaneExtension its ControlPlane;
	// nil if it has none.
	infrastructure        *extensionsv1alpha1.Infrastructure
	controlPlaneExtension *extensionsv1alpha1.ControlPlane
	// networks and managed are what is in a control-plane namespace that is being deleted.
	networks []extensionsv1alpha1.Network
	managed  []resourcesv1alpha1.ManagedResource
	// released reports that the finalizer was removed, so that nothing must be written.
	released bool
}

// newRun reads the control-plane namespace and, if it is this Shoot's, the Network and the
// Infrastructure. For a deletion it reads from the API server: see seed.live.
func (r *Reconciler) newRun(ctx context.Context, shoot *corev1beta1.Shoot) (*run, error) {
	next := &run{
		stored: shoot, shoot: shoot.DeepCopy(), before: shoot.Status.LastOperation, namespace: pipeline.ControlPlaneNamespace(shoot),
	}
	reader := client.Reader(r.Client)
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
	if err := r.infrastructures.find(ctx, next); err != nil {
		return next, err
	}
	network := &extensionsv1alpha1.Network{}
	if err := r.Get(ctx, client.ObjectKey{Namespace: next.namespace, Name: shoot.Name}, network); err != nil {
		return next, client.IgnoreNotFound(err)
	}
	next.network = network
	return next, nil
}

// owner is the value of ShootAnnotation for this Shoot.
func (run *run) owner() string { return client.ObjectKeyFromObject(run.shoot).String() }

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
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (result reconcile.Result, err error) {
	shoot := &corev1beta1.Shoot{}
	if err := r.Get(ctx, request.NamespacedName, shoot); err != nil {
		if !apierrors.IsNotFound(err) {
			return reconcile.Result{}, err
		}
		r.reporter.operations.Delete(request.NamespacedName)
		r.others.forget(request.NamespacedName)
		return outcome.TryAgain(r.releaseAbandoned(ctx, request.NamespacedName)).Result()
	}
	if isDeleting(shoot) && !controllerutil.ContainsFinalizer(shoot, finalizer) {
		return reconcile.Result{}, nil
	}
	if others, again := r.others.have(ctx, shoot); others {
		return reconcile.Result{RequeueAfter: again}, nil
	}
	began := r.reporter.clock.Now()
	run, err := r.newRun(ctx, shoot)
	if err != nil {
		return reconcile.Result{}, err
	}
	ended := ending{Outcome: outcome.Panicked(), stages: r.stagesFor(run)}
	defer func() { result, err = r.reporter.report(ctx, run, ended, began) }()
	ended.Outcome, ended.done = outcome.Run(ctx, run, ended.stages)
	return result, err
}

// releaseAbandoned releases the access to a Shoot that no longer exists, although its
// control plane does: a user removed the Shoot's finalizer.
func (r *Reconciler) releaseAbandoned(ctx context.Context, shoot types.NamespacedName) error {
	namespace := pipeline.ControlPlaneNamespace(&corev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{Namespace: shoot.Namespace, Name: shoot.Name},
	})
	if owner, known := r.owners.annotated(ctx, namespace); !known || owner != shoot {
		return nil
	}
	networks, managed, err := r.dependents(ctx, namespace)
	if err != nil || len(networks)+len(managed) > 0 {
		return err
	}
	return r.access.removeFinalizer(ctx, namespace)
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
