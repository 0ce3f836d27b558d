// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ShootAnnotation on a control-plane namespace is "<namespace>/<name>" of the
// Shoot that it belongs to. Whatever is in the namespace goes with that Shoot.
const ShootAnnotation = "trellis.network/shoot"

// Labels by which Gardener's webhooks select control-plane namespaces.
const (
	roleLabel               = "gardener.cloud/role"
	roleShoot               = "shoot"
	providerLabel           = "shoot.gardener.cloud/provider"
	networkingProviderLabel = "networking.shoot.gardener.cloud/provider"
)

// deployNamespace brings the control-plane namespace into being. A namespace of
// somebody else is not touched.
func (op *operation) deployNamespace(ctx context.Context) error {
	current := partialMetadata("Namespace")
	err := op.client.Get(ctx, client.ObjectKey{Name: op.namespace}, current)
	if apierrors.IsNotFound(err) {
		return op.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name:        op.namespace,
			Labels:      op.namespaceLabels(),
			Annotations: map[string]string{ShootAnnotation: op.owner()},
		}})
	}
	if err != nil {
		return err
	}
	if owner := current.Annotations[ShootAnnotation]; owner != op.owner() {
		return misconfigured(foreign(op.namespace, owner, op.owner()))
	}
	if isDeleting(current) {
		return op.awaitNamespaceGone(ctx)
	}
	labelled := current.DeepCopy()
	if labelled.Labels == nil {
		labelled.Labels = map[string]string{}
	}
	maps.Copy(labelled.Labels, op.namespaceLabels())
	if maps.Equal(labelled.Labels, current.Labels) {
		return nil
	}
	return op.client.Patch(ctx, labelled, client.MergeFrom(current))
}

// owner is the value of ShootAnnotation for this Shoot.
func (op *operation) owner() string { return op.shoot.Namespace + "/" + op.shoot.Name }

func foreign(namespace, owner, shoot string) string {
	if owner != "" {
		return fmt.Sprintf("the control-plane namespace %s belongs to the Shoot %s already: create this Shoot under another name", namespace, owner)
	}
	return fmt.Sprintf("the namespace %s exists already and belongs to no Shoot: delete it, create this Shoot under another name, "+
		"or hand the namespace over with all that is in it by the annotation %s: %s", namespace, ShootAnnotation, shoot)
}

// namespaceLabels leaves out types which cannot be a label's value: the error
// about them is better given where the type is used.
func (op *operation) namespaceLabels() map[string]string {
	labels := map[string]string{roleLabel: roleShoot}
	types := map[string]string{providerLabel: op.shoot.Spec.Provider.Type}
	if n := op.shoot.Spec.Networking; n != nil && n.Type != nil {
		types[networkingProviderLabel] = *n.Type
	}
	for label, value := range types {
		if len(validation.IsValidLabelValue(value)) == 0 {
			labels[label] = value
		}
	}
	return labels
}

// partialMetadata is an empty core object of which only the metadata is asked for.
func partialMetadata(kind string) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return object
}
