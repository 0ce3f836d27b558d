// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
)

// staleRetry is how long a cache that is late is given.
const staleRetry = 500 * time.Millisecond

// step is one part of an operation. Each is idempotent and writes only what
// differs, so that an operation can be begun again after any of its requests.
type step struct {
	// name says what the step does, and is the taskID of its errors.
	name string
	run  func(*operation, context.Context) error
}

// awaitingNetwork is the step whose errors are the Network's.
const awaitingNetwork = "Waiting for the Network"

// reconciliation is what is done for a Shoot, in this order.
var reconciliation = []step{
	{"Establishing the identity of the Shoot", (*operation).establishIdentity},
	{"Deploying the control-plane namespace", (*operation).deployNamespace},
	{"Taking over the access to the shoot", (*operation).takeOverAccess},
	{"Deploying the Cluster", (*operation).deployCluster},
	{"Deploying the prerequisites", (*operation).deployPrerequisites},
	{"Deploying the Network", (*operation).deployNetwork},
	{awaitingNetwork, (*operation).awaitNetwork},
	{"Waiting for the prerequisites", (*operation).awaitPrerequisites},
}

// deletion is what is done for a Shoot that is being deleted, in this order.
var deletion = []step{
	{"Deleting the Network", (*operation).deleteNetworks},
	{"Deleting the ManagedResources", (*operation).deleteManagedResources},
	{"Deleting the control plane", (*operation).deleteControlPlane},
	{"Releasing the Shoot", (*operation).release},
}

// operation is one pass over one Shoot.
type operation struct {
	*reconciler
	// stored is the Shoot as the API server has it, shoot the one worked on. They
	// differ in what is still to be written into the status.
	stored, shoot *corev1beta1.Shoot
	// namespace is the control plane's.
	namespace string
	// network is the Shoot's, nil if there is none.
	network *extensionsv1alpha1.Network
	// apiServer is the address of the shoot's, once it is known.
	apiServer string
	// released says that the Shoot does not wait for us any more.
	released bool
}

// begin prepares a pass; nil means that there is nothing to do.
func (r *reconciler) begin(ctx context.Context, shoot *corev1beta1.Shoot) (*operation, error) {
	if isDeleting(shoot) && !controllerutil.ContainsFinalizer(shoot, finalizer) {
		return nil, nil
	}
	op := &operation{reconciler: r, stored: shoot, shoot: shoot.DeepCopy(), namespace: pipeline.ControlPlaneNamespace(shoot)}
	return op, op.findNetwork(ctx)
}

// findNetwork looks for the Shoot's Network, which is not there unless the
// namespace is the Shoot's: another Shoot may have one of the same name.
func (op *operation) findNetwork(ctx context.Context) error {
	namespace := partialMetadata("Namespace")
	err := op.client.Get(ctx, client.ObjectKey{Name: op.namespace}, namespace)
	if err != nil || namespace.Annotations[ShootAnnotation] != op.owner() {
		return client.IgnoreNotFound(err)
	}
	network := &extensionsv1alpha1.Network{}
	err = op.client.Get(ctx, client.ObjectKey{Namespace: op.namespace, Name: op.shoot.Name}, network)
	if err == nil {
		op.network = network
	}
	return client.IgnoreNotFound(err)
}

func isDeleting(o client.Object) bool { return !o.GetDeletionTimestamp().IsZero() }

// ending is how a pass ended: after how many of its steps, and with what.
type ending struct {
	steps []step
	done  int
	err   error
}

func (op *operation) run(ctx context.Context) ending {
	end := ending{steps: reconciliation}
	if isDeleting(op.shoot) {
		end.steps = deletion
	}
	for _, s := range end.steps {
		if end.err = s.run(op, ctx); end.err != nil {
			return end
		}
		end.done++
	}
	return end
}

// waiting is the error of a step that cannot be finished yet. An event will tell
// when it can.
type waiting struct{ until string }

func (w waiting) Error() string { return "waiting until " + w.until }

// problem is the error of a step that trying again does not help: somebody has
// to change something, and an event will tell that they did.
type problem struct {
	description string
	codes       []corev1beta1.ErrorCode
}

func (p problem) Error() string { return p.description }

// misconfigured is a problem that the author of the Shoot can solve.
func misconfigured(description string) problem {
	return problem{description: description, codes: []corev1beta1.ErrorCode{corev1beta1.ErrorConfigurationProblem}}
}

// refused makes a problem of an API server's verdict on what the Shoot asks for.
func refused(err error) error {
	if apierrors.IsInvalid(err) {
		return misconfigured(inShootTerms(err.Error()))
	}
	return err
}

// retryable is err if trying again may help.
func retryable(err error) error {
	var w waiting
	var p problem
	if errors.As(err, &w) || errors.As(err, &p) {
		return nil
	}
	return err
}
