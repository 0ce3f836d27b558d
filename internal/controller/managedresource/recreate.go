// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// recreate deletes an object whose update was refused as invalid, if its author
// wants that, or if what differs can never be updated: the content of an immutable
// object, the role of a binding. The next attempt creates it.
func (p *pass) recreate(ctx context.Context, i *item, refused error) error {
	if !apierrors.IsInvalid(refused) {
		return refused
	}
	live, err := p.live(ctx, i)
	if err != nil {
		return refused
	}
	if !isFrozen(live, refused) && !hasOtherRole(live, i.object) && !truthy(i.object.GetAnnotations()[resourcesv1alpha1.DeleteOnInvalidUpdate]) {
		return refused
	}
	options := &client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(live.GetUID())}}
	switch policy := metav1.DeletionPropagation(i.object.GetAnnotations()[resourcesv1alpha1.DeletionPropagationOnInvalidUpdate]); policy {
	case metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan:
		options.PropagationPolicy = &policy
	}
	if err := client.IgnoreNotFound(p.shoot.Client.Delete(ctx, live, options)); err != nil {
		return err
	}
	delete(p.record.seen, i.id)
	return &recreating{refused}
}

// isFrozen says whether live is an immutable ConfigMap or Secret and that is all
// for which an update of it was refused. With any other cause a new object would
// be refused as well, and there would be none.
func isFrozen(live *unstructured.Unstructured, refused error) bool {
	kind := live.GroupVersionKind().GroupKind()
	immutable, _, _ := unstructured.NestedBool(live.Object, "immutable")
	var status apierrors.APIStatus
	if !immutable || kind.Group != "" || kind.Kind != "ConfigMap" && kind.Kind != "Secret" || !errors.As(refused, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && len(details.Causes) > 0 && !slices.ContainsFunc(details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Type != metav1.CauseTypeForbidden && !strings.HasSuffix(cause.Message, validation.FieldImmutableErrorMsg)
	})
}

// hasOtherRole says whether live is a binding to another role than wanted, and so
// grants rights that nobody has stated.
func hasOtherRole(live, wanted *unstructured.Unstructured) bool {
	there, isBinding, _ := unstructured.NestedMap(live.Object, "roleRef")
	stated, _, _ := unstructured.NestedMap(wanted.Object, "roleRef")
	return isBinding && live.GroupVersionKind().Group == rbacv1.GroupName && !maps.Equal(there, stated)
}
