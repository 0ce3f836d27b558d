// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// update makes an existing object what the item desires, and removes what others set
// and may not set. It writes only if something differs.
func (a *applier) update(ctx context.Context, i *item, live *unstructured.Unstructured) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		err := a.tryUpdate(ctx, i, live)
		if apierrors.IsConflict(err) {
			fresh, getErr := a.live(ctx, i)
			if getErr != nil {
				return getErr
			}
			live = fresh
		}
		return err
	})
	if apierrors.IsInvalid(err) {
		return a.recreate(ctx, i, err)
	}
	return err
}

func (a *applier) tryUpdate(ctx context.Context, i *item, live *unstructured.Unstructured) error {
	corrects, editor := false, editorOf(live, i.object.GetAnnotations()[resourcesv1alpha1.Origin])
	owners, err := takeOwnership(live, exceptionsFor(i, a.before[i.id], live))
	if err != nil {
		return err
	}
	if owners.moved {
		patch, err := owners.patch(live)
		if err != nil {
			return err
		}
		if err := patchMetadata(ctx, a.shoot, live, "%s", patch); err != nil {
			return err
		}
	}
	wanted := preserving(i, live, owners)
	if last, observed := a.observed.objects.Get(i.id); !observed || last.hash == i.hash {
		// The content is not known to be new, so the object may be as desired.
		differs, err := a.differs(ctx, live, wanted)
		if err != nil {
			return err
		}
		if !differs {
			a.observed.observe(i, live)
			return nil
		}
		corrects = true
		log.FromContext(ctx).Info("An object in the shoot differs from the bundle and is corrected", "object", i.id.String(), "editor", editor)
	}
	if err := a.send(ctx, wanted); err != nil {
		return err
	}
	if owners, err = takeOwnership(wanted, exceptionsFor(i, a.before[i.id], wanted)); err != nil {
		return err
	}
	if owners.moved { // Another client set more after live was read.
		return apierrors.NewConflict(schema.GroupResource{Group: i.id.Group, Resource: i.id.Kind}, i.id.Name, errEdited)
	}
	a.observed.observe(i, wanted)
	if corrects {
		return a.observed.correct(i.id, editor, a.clock.Now())
	}
	return nil
}

// differs reports whether applying wanted would change live, by a dry-run.
func (a *applier) differs(ctx context.Context, live, wanted *unstructured.Unstructured) (bool, error) {
	answer := wanted.DeepCopy()
	if err := a.send(ctx, answer, client.DryRunAll); err != nil {
		return false, err
	}
	return !apiequality.Semantic.DeepEqual(contentOf(answer), contentOf(live)), nil
}

// contentOf returns an object without what changes though its content does not.
func contentOf(object *unstructured.Unstructured) map[string]any {
	content := object.DeepCopy()
	content.SetManagedFields(nil)
	content.SetResourceVersion("")
	unstructured.RemoveNestedField(content.Object, "status")
	return content.Object
}

// recreate deletes an object whose update was refused as invalid, if its annotation asks
// for that, or if what differs can never be updated: the content of an immutable object
// (R14), the role of a binding. The next run creates it.
func (a *applier) recreate(ctx context.Context, i *item, refused error) error {
	live, err := a.live(ctx, i)
	if err != nil {
		return refused
	}
	if !isImmutable(live, refused) && !hasOtherRole(live, i.object) && !isMarked(i.object, resourcesv1alpha1.DeleteOnInvalidUpdate) {
		return refused
	}
	unchanged := client.Preconditions{UID: ptr.To(live.GetUID())}
	if err := client.IgnoreNotFound(a.shoot.Client.Delete(ctx, live, unchanged)); err != nil {
		return err
	}
	a.observed.objects.Delete(i.id)
	_ = a.observed.correct(i.id, "another client", a.clock.Now()) // the error would be that of the next run
	return &recreating{refused}
}

// isImmutable reports whether live is an immutable ConfigMap or Secret and the update
// was refused for nothing else. For any other cause a new object would be refused as
// well, and the shoot would have none.
func isImmutable(live *unstructured.Unstructured, refused error) bool {
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

// hasOtherRole reports whether live is a binding to another role than the desired one,
// so that it grants rights which no bundle states.
func hasOtherRole(live, desired *unstructured.Unstructured) bool {
	there, isBinding, _ := unstructured.NestedMap(live.Object, "roleRef")
	stated, _, _ := unstructured.NestedMap(desired.Object, "roleRef")
	return isBinding && live.GroupVersionKind().Group == rbacv1.GroupName && !maps.Equal(there, stated)
}
