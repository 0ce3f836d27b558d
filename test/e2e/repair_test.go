// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// managed returns all objects in the shoot that Trellis manages.
func (w *world) managed() []*unstructured.Unstructured {
	list := &resourcesv1alpha1.ManagedResourceList{}
	w.Expect(w.seed.List(w.t.Context(), list, client.InNamespace("shoot--dev--johndoe-azure"))).To(Succeed())
	var all []*unstructured.Unstructured
	for _, mr := range list.Items {
		if mr.Spec.Class != nil {
			continue // its objects are in the seed
		}
		for _, reference := range mr.Status.Resources {
			object := &unstructured.Unstructured{}
			object.SetGroupVersionKind(schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind))
			object.SetNamespace(reference.Namespace)
			object.SetName(reference.Name)
			all = append(all, object)
		}
	}
	return all
}

// Trellis recreates every object that a user deletes in the shoot.
func TestDeletedObjectsComeBack(t *testing.T) {
	w := setup(t, forOthers)
	w.apply(w.johndoe())
	w.succeeds()
	before := w.snapshot(w.shoot)
	objects := w.managed()
	w.Expect(len(objects)).To(BeNumerically(">", 40))
	for _, object := range objects {
		err := w.shoot.Delete(t.Context(), object, client.PropagationPolicy(metav1.DeletePropagationBackground))
		w.Expect(client.IgnoreNotFound(err)).To(Succeed(), "only the deletion of a CRD may have deleted it before")
	}
	w.Eventually(func() []string { return difference(before, w.snapshot(w.shoot)) }).WithPolling(time.Second).Should(BeEmpty())
	w.succeeds()
	w.delete()
}

// Trellis reverts every edit in the shoot: changes of its fields, and fields that another
// client has added to its objects.
func TestEditsOfObjectsAreReverted(t *testing.T) {
	w := setup(t, forOthers)
	w.apply(w.johndoe())
	w.succeeds()
	before := w.snapshot(w.shoot)
	for _, object := range w.managed() {
		w.Eventually(func() error {
			if err := w.shoot.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}
			edit(w, object)
			err := w.shoot.Update(t.Context(), object, client.FieldOwner("another-client"))
			if apierrors.IsConflict(err) {
				return err
			}
			w.Expect(err).NotTo(HaveOccurred(), "%s %s", object.GetKind(), object.GetName())
			w.Expect(normalized(w, object)).NotTo(Equal(before[keyOf(object)]), "the API server must accept the edit of %s", keyOf(object))
			return nil
		}).Should(Succeed())
	}
	w.Eventually(func() []string { return difference(before, w.snapshot(w.shoot)) }).WithPolling(time.Second).Should(BeEmpty())
	w.succeeds()
	w.delete()
}

// edit changes a field of ours in an object, or adds a field.
func edit(w *world, object *unstructured.Unstructured) {
	labels := object.GetLabels()
	delete(labels, "shoot.gardener.cloud/no-cleanup")
	object.SetLabels(labels)
	set := func(value any, path ...string) {
		w.Expect(unstructured.SetNestedField(object.Object, value, path...)).To(Succeed())
	}
	switch object.GetKind() {
	case "DaemonSet", "Deployment":
		containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		w.Expect(err).NotTo(HaveOccurred())
		first := containers[0].(map[string]any)
		first["image"] = "example.org/another/image:v1"
		env, _ := first["env"].([]any)
		first["env"] = append(env, map[string]any{"name": "ADDED", "value": "true"})
		set(containers, "spec", "template", "spec", "containers")
		set(int64(7), "spec", "template", "spec", "terminationGracePeriodSeconds")
	case "ConfigMap":
		set("true", "data", "added")
	case "ClusterRole", "Role":
		set([]any{map[string]any{"apiGroups": []any{""}, "resources": []any{"secrets"}, "verbs": []any{"get"}}}, "rules")
	case "ClusterRoleBinding", "RoleBinding":
		set([]any{map[string]any{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "another-user"}}, "subjects")
	case "ServiceAccount":
		set(true, "automountServiceAccountToken")
	case "Service":
		set(map[string]any{"another": "selector"}, "spec", "selector")
	case "IPPool":
		set(false, "spec", "natOutgoing")
		set("true", "spec", "added")
	case "CustomResourceDefinition":
		set([]any{"added-" + strings.Split(object.GetName(), ".")[0]}, "spec", "names", "shortNames")
	case "PodDisruptionBudget":
		set(int64(5), "spec", "maxUnavailable")
	case "NetworkPolicy":
		set([]any{"Ingress", "Egress"}, "spec", "policyTypes")
	case "PriorityClass":
		set("edited", "description")
	}
}
