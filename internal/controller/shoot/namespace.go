// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/outcome"
)

// ShootAnnotation on a control-plane namespace is "<namespace>/<name>" of the Shoot that
// it belongs to. Everything in the namespace is deleted with that Shoot.
const ShootAnnotation = "trellis.network/shoot"

// OperatorLabel on a control-plane namespace is the name of the operator that reconciles its
// Shoot.
const OperatorLabel = "trellis.network/operator"

// OperatorOf returns the name of the operator that reconciles the Shoot of a control-plane
// namespace, empty if that is unknown.
func OperatorOf(ctx context.Context, r client.Reader, controlPlane string) string {
	namespace := partialMetadata("Namespace")
	_ = r.Get(ctx, client.ObjectKey{Name: controlPlane}, namespace) // it may not exist
	return namespace.Labels[OperatorLabel]
}

// Labels by which Gardener's webhooks select control-plane namespaces.
const (
	roleLabel = "gardener.cloud/role"
	roleShoot = "shoot"
)

// namespaces are the control-plane namespaces.
type namespaces struct {
	seed
	operator string
}

// deploy creates the control-plane namespace, and keeps its labels up to date.
// It refuses a namespace that belongs to another Shoot or to none.
func (n namespaces) deploy(ctx context.Context, run *run) outcome.Outcome {
	if run.controlPlane == nil {
		return fail(n.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: run.namespace, Labels: n.labels(run), Annotations: map[string]string{ShootAnnotation: run.owner()},
		}}))
	}
	if run.isForeign() {
		return fail(namespaceTaken(run))
	}
	labelled := run.controlPlane.DeepCopy()
	if labelled.Labels == nil {
		labelled.Labels = map[string]string{}
	}
	maps.Copy(labelled.Labels, n.labels(run))
	if maps.Equal(labelled.Labels, run.controlPlane.Labels) {
		return outcome.Continue()
	}
	return fail(n.Patch(ctx, labelled, client.MergeFrom(run.controlPlane)))
}

func namespaceTaken(run *run) error {
	if owner := run.controlPlane.Annotations[ShootAnnotation]; owner != "" {
		return userError{fmt.Errorf("the control-plane namespace %s belongs to the Shoot %s already: create this Shoot under another name", run.namespace, owner)}
	}
	return userError{fmt.Errorf("the namespace %s exists already and belongs to no Shoot: delete it, create this Shoot under another name, "+
		"or hand the namespace over with everything in it by the annotation %s: %s", run.namespace, ShootAnnotation, run.owner())}
}

// labels leaves out what can't be the value of a label. Where a type is used, a better error
// describes that.
func (n namespaces) labels(run *run) map[string]string {
	labels := map[string]string{roleLabel: roleShoot, extensionsv1alpha1.ProviderLabel: run.shoot.Spec.Provider.Type}
	if networkType := run.networkType(); networkType != "" {
		labels[extensionsv1alpha1.NetworkTypeLabel] = networkType
	}
	if n.operator != "" {
		labels[OperatorLabel] = n.operator
	}
	maps.DeleteFunc(labels, func(_, value string) bool { return len(validation.IsValidLabelValue(value)) > 0 })
	return labels
}

// awaitGone waits until the cache shows that the control-plane namespace is gone, so that a
// reconciliation creates it again.
func (n namespaces) awaitGone(_ context.Context, run *run) outcome.Outcome {
	return outcome.Wait("the namespace "+run.namespace+" is gone", 0)
}

// delete deletes the Cluster and the namespace, and waits until the namespace
// is gone.
func (n namespaces) delete(ctx context.Context, run *run) outcome.Outcome {
	namespace := &corev1.Namespace{}
	err := n.live.Get(ctx, client.ObjectKey{Name: run.namespace}, namespace)
	if client.IgnoreNotFound(err) != nil {
		return fail(err)
	}
	exists := err == nil
	if exists && namespace.Annotations[ShootAnnotation] != run.owner() {
		return outcome.Continue() // another Shoot's by now
	}
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: run.namespace}}
	if err := client.IgnoreNotFound(n.Delete(ctx, cluster)); err != nil || !exists {
		return fail(err)
	}
	if !isDeleting(namespace) {
		if err := client.IgnoreNotFound(n.Delete(ctx, namespace, client.Preconditions{UID: &namespace.UID})); err != nil {
			return fail(err)
		}
	}
	return outcome.Wait(fmt.Sprintf("the namespace %s is gone%s", run.namespace, remainingContent(namespace)), 0)
}

// remainingContent returns what the namespace controller waits for, to be appended to a
// description.
func remainingContent(namespace *corev1.Namespace) string {
	var messages []string
	for _, c := range namespace.Status.Conditions {
		if c.Status == corev1.ConditionTrue && c.Message != "" {
			messages = append(messages, c.Message)
		}
	}
	if len(messages) == 0 {
		return ""
	}
	return ": " + strings.Join(messages, "; ")
}

// partialMetadata returns an empty core object to read only the metadata of.
func partialMetadata(kind string) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return object
}
