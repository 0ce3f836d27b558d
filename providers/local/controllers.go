// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// configVersion is the version of the configurations and statuses of this infrastructure.
const configVersion = "local.provider.extensions.gardener.cloud/v1alpha1"

// +kubebuilder:rbac:roleName=local/operator,groups=extensions.gardener.cloud,resources=infrastructures/status;controlplanes/status,verbs=patch

// AddControllers adds controllers of Infrastructures and ControlPlanes of this type. The machine
// is there already, so they make nothing: they check what is asked for, and report it.
func (provider) AddControllers(mgr ctrl.Manager) error {
	infrastructures := &reconciler{mgr.GetClient(), "Infrastructure", extensionsv1alpha1.InfrastructureFinalizer,
		func() extensionsv1alpha1.Object { return &extensionsv1alpha1.Infrastructure{} }}
	controlPlanes := &reconciler{mgr.GetClient(), "ControlPlane", extensionsv1alpha1.ControlPlaneFinalizer,
		func() extensionsv1alpha1.Object { return &extensionsv1alpha1.ControlPlane{} }}
	return errors.Join(
		ctrl.NewControllerManagedBy(mgr).Named("local-infrastructure").For(&extensionsv1alpha1.Infrastructure{}).Complete(infrastructures),
		ctrl.NewControllerManagedBy(mgr).Named("local-controlplane").For(&extensionsv1alpha1.ControlPlane{}).Complete(controlPlanes))
}

// reconciler follows Gardener's contract with gardenlets for one kind.
type reconciler struct {
	client.Client
	kind, finalizer string
	empty           func() extensionsv1alpha1.Object
}

// Reconcile answers the last request. A status that is about the present spec is an answer.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object := r.empty()
	if err := r.Get(ctx, request.NamespacedName, object); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	spec, status := object.GetExtensionSpec(), object.GetExtensionStatus()
	operation := object.GetAnnotations()[extensionsv1alpha1.OperationAnnotation]
	isOurs := spec.Type == providerType && (spec.Class == nil || *spec.Class == extensionsv1alpha1.ExtensionClassShoot)
	isDeleting := !object.GetDeletionTimestamp().IsZero()
	isAnswered := operation == "" && status.LastOperation != nil && status.ObservedGeneration == object.GetGeneration()
	if !isOurs || operation == extensionsv1alpha1.OperationWaitForState || isAnswered && !isDeleting {
		return reconcile.Result{}, nil
	}
	before := object.DeepCopyObject().(client.Object)
	if isDeleting {
		controllerutil.RemoveFinalizer(object, r.finalizer)
		return reconcile.Result{}, client.IgnoreNotFound(r.Patch(ctx, object, since(before)))
	}
	// Without its annotation a request counts as answered, so the answer is stored first.
	if !answersRequest(object) {
		r.answer(object)
		if err := r.Status().Patch(ctx, object, since(before)); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		before = object.DeepCopyObject().(client.Object)
	}
	if !controllerutil.AddFinalizer(object, r.finalizer) && operation == "" {
		return reconcile.Result{}, nil
	}
	annotations := maps.Clone(object.GetAnnotations())
	delete(annotations, extensionsv1alpha1.OperationAnnotation)
	object.SetAnnotations(annotations)
	return reconcile.Result{}, client.IgnoreNotFound(r.Patch(ctx, object, since(before)))
}

// answersRequest reports whether the status is about the present spec, and not older than the
// request, which has the time at which it was written.
func answersRequest(object extensionsv1alpha1.Object) bool {
	requested, err := time.Parse(time.RFC3339Nano, object.GetAnnotations()[extensionsv1alpha1.TimestampAnnotation])
	status := object.GetExtensionStatus()
	return err == nil && status.LastOperation != nil && status.ObservedGeneration == object.GetGeneration() &&
		!requested.Truncate(time.Second).After(status.LastOperation.LastUpdateTime.Time)
}

// since returns the patch for what has changed in an object. An object that another client has
// changed meanwhile is read again.
func since(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// answer sets the status of an object.
func (r *reconciler) answer(object extensionsv1alpha1.Object) {
	status := object.GetExtensionStatus()
	now := metav1.Now()
	operation := &corev1beta1.LastOperation{
		Type: corev1beta1.LastOperationTypeReconcile, State: corev1beta1.LastOperationStateSucceeded, Progress: 100,
		Description: "Successfully reconciled " + r.kind, LastUpdateTime: now,
	}
	if last := status.LastOperation; last == nil || last.Type == corev1beta1.LastOperationTypeCreate && last.State != corev1beta1.LastOperationStateSucceeded {
		operation.Type = corev1beta1.LastOperationTypeCreate
	}
	status.LastError, status.LastOperation, status.ObservedGeneration = nil, operation, object.GetGeneration()
	if err := r.check(object.GetExtensionSpec().ProviderConfig); err != nil {
		operation.State, operation.Progress = corev1beta1.LastOperationStateError, 50
		operation.Description = fmt.Sprintf("Error reconciling %s: %v", r.kind, err)
		status.LastError = &corev1beta1.LastError{
			Description: operation.Description, Codes: []corev1beta1.ErrorCode{corev1beta1.ErrorConfigurationProblem}, LastUpdateTime: &now,
		}
		return
	}
	status.ProviderStatus = &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q}`, configVersion, r.kind+"Status")}
}

// check refuses a configuration of another infrastructure.
func (r *reconciler) check(config *runtime.RawExtension) error {
	if config == nil {
		return nil
	}
	var is metav1.TypeMeta
	path := field.NewPath("spec", "providerConfig")
	if err := json.Unmarshal(config.Raw, &is); err != nil {
		return field.Invalid(path, "", err.Error())
	}
	if is.APIVersion != configVersion {
		return field.NotSupported(path.Child("apiVersion"), is.APIVersion, []string{configVersion})
	}
	if wanted := r.kind + "Config"; is.Kind != wanted {
		return field.NotSupported(path.Child("kind"), is.Kind, []string{wanted})
	}
	return nil
}
