// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// id is the identity of an object, which ignores its version.
type id struct {
	schema.GroupKind
	types.NamespacedName
}

// reference is an entry of status.resources.
type reference struct {
	APIVersion  string            `json:"apiVersion"`
	Kind        string            `json:"kind"`
	Namespace   string            `json:"namespace,omitempty"`
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func (r reference) id() id {
	return id{schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind(), types.NamespacedName{Namespace: r.Namespace, Name: r.Name}}
}

func (r reference) object() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.FromAPIVersionAndKind(r.APIVersion, r.Kind))
	object.SetNamespace(r.Namespace)
	object.SetName(r.Name)
	return object
}

func referenceTo(object *unstructured.Unstructured) reference {
	return reference{
		APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(),
		Labels: object.GetLabels(), Annotations: object.GetAnnotations(),
	}
}

// pass makes the target what a ManagedResource states. An error has it repeated.
func (m *resourceManager) pass(ctx context.Context, mr *unstructured.Unstructured) (reconcile.Result, error) {
	w, err := m.read(ctx, mr)
	if err != nil {
		return reconcile.Result{}, m.failed(ctx, mr, "CannotReadSecret", err)
	}
	old := inventoryOf(mr)
	fresh := make([]reference, 0, len(w.objects))
	kept := map[id]bool{}
	for _, object := range w.objects {
		fresh = append(fresh, referenceTo(object))
		kept[fresh[len(fresh)-1].id()] = true
	}
	slices.SortFunc(fresh, func(a, b reference) int {
		x, y := a.id(), b.id()
		return cmp.Or(cmp.Compare(x.Group, y.Group), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	if checksum, _, _ := unstructured.NestedString(mr.Object, "status", "secretsDataChecksum"); checksum != w.checksum {
		m.begun(mr)
		if err := m.source.Status().Update(ctx, mr); err != nil {
			return reconcile.Result{}, err
		}
	}
	obsolete := slices.DeleteFunc(slices.Clone(old), func(r reference) bool { return kept[r.id()] })
	if pending := m.delete(ctx, obsolete); pending != "" {
		m.setCondition(mr, applied, "Progressing", "DeletionPending", pending)
		return reconcile.Result{RequeueAfter: m.Again}, m.source.Status().Update(ctx, mr)
	}
	for _, object := range w.objects {
		err := w.unknown[object]
		if err == nil {
			err = m.apply(ctx, object, mr, old)
		}
		if err != nil {
			err = fmt.Errorf("error during apply of object %q: %w", fmt.Sprintf("%s/%s/%s/%s",
				object.GetAPIVersion(), object.GetKind(), object.GetNamespace(), object.GetName()), err)
			return reconcile.Result{}, m.failed(ctx, mr, "ApplyFailed", err)
		}
	}
	return reconcile.Result{}, m.succeed(ctx, mr, w, fresh)
}

// succeed writes the status of a complete pass.
func (m *resourceManager) succeed(ctx context.Context, mr *unstructured.Unstructured, w *wanted, inventory []reference) error {
	setInventory(mr, inventory)
	_ = unstructured.SetNestedField(mr.Object, w.checksum, "status", "secretsDataChecksum")
	_ = unstructured.SetNestedField(mr.Object, mr.GetGeneration(), "status", "observedGeneration")
	if len(w.problems) > 0 {
		return m.failed(ctx, mr, "DecodingFailed", errors.Join(w.problems...))
	}
	m.mutex.Lock()
	m.applied = append(m.applied, appliedPass{mr.GetName(), mr.GetGeneration(), w.objects})
	m.mutex.Unlock()
	m.setCondition(mr, applied, "True", "ApplySucceeded", "All resources are applied.")
	m.setCondition(mr, healthy, "True", "ResourcesHealthy", "All resources are healthy.")
	m.setCondition(mr, progressing, "False", "ResourcesRolledOut", "All resources have been fully rolled out.")
	return m.source.Status().Update(ctx, mr)
}

// failed writes why a pass failed, and returns it to be retried.
func (m *resourceManager) failed(ctx context.Context, mr *unstructured.Unstructured, reason string, cause error) error {
	m.setCondition(mr, applied, "False", reason, cause.Error())
	return errors.Join(cause, m.source.Status().Update(ctx, mr))
}

// remove deletes everything that a ManagedResource has applied, unless that must be
// kept, and removes the ManagedResource's finalizer.
func (m *resourceManager) remove(ctx context.Context, mr *unstructured.Unstructured) (reconcile.Result, error) {
	keep, _, _ := unstructured.NestedBool(mr.Object, "spec", "keepObjects")
	if !keep || mr.GetDeletionTimestamp() == nil {
		if pending := m.delete(ctx, inventoryOf(mr)); pending != "" {
			m.setCondition(mr, healthy, "False", "DeletionPending", pending)
			m.setCondition(mr, progressing, "True", "DeletionPending", pending)
			m.setCondition(mr, applied, "Progressing", "DeletionPending", pending)
			return reconcile.Result{RequeueAfter: m.Again}, m.source.Status().Update(ctx, mr)
		}
	}
	before := mr.DeepCopy()
	controllerutil.RemoveFinalizer(mr, m.finalizer())
	return reconcile.Result{}, client.IgnoreNotFound(m.source.Patch(ctx, mr, client.MergeFrom(before)))
}

// delete deletes objects, all at once, and says which of them are still there. One
// that has only just been deleted counts as such.
func (m *resourceManager) delete(ctx context.Context, obsolete []reference) (pending string) {
	for _, each := range obsolete {
		object := each.object()
		err := m.Target.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			continue
		}
		if err == nil && object.GetAnnotations()[keepObject] == "true" {
			continue
		}
		if err == nil {
			options := []client.DeleteOption{}
			if group := object.GroupVersionKind().Group; group == "apps" || group == "extensions" || group == "batch" {
				options = append(options, client.PropagationPolicy(metav1.DeletePropagationForeground))
			}
			err = m.Target.Delete(ctx, object, options...)
		}
		pending = fmt.Sprintf("deletion of %s %s/%s is still pending", each.Kind, each.Namespace, each.Name)
		if err != nil {
			pending += ": " + err.Error()
		}
	}
	return pending
}
