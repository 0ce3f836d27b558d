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

// managed are all objects in the shoot that Trellis keeps there.
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

// Whatever is deleted in the shoot comes back as it was.
func TestDeletedObjectsComeBack(t *testing.T) {
	w := setup(t, forOthers)
	w.apply(w.johndoe())
	w.succeeds()
	before := w.snapshot(w.shoot)
	objects := w.managed()
	w.Expect(len(objects)).To(BeNumerically(">", 40))
	for _, object := range objects {
		err := w.shoot.Delete(t.Context(), object, client.PropagationPolicy(metav1.DeletePropagationBackground))
		w.Expect(client.IgnoreNotFound(err)).To(Succeed(), "custom resources go with their CRD")
	}
	w.Eventually(func() []string { return difference(before, w.snapshot(w.shoot)) }).WithPolling(time.Second).Should(BeEmpty())
	w.succeeds()
	w.delete()
}

// Whatever is edited in the shoot is put right: fields that are ours, and fields
// that another client has added to what is ours.
func TestEditedObjectsArePutRight(t *testing.T) {
	w := setup(t, forOthers)
	w.apply(w.johndoe())
	w.succeeds()
	before := w.snapshot(w.shoot)
	for _, object := range w.managed() {
		w.Eventually(func() error {
			if err := w.shoot.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}
			vandalize(w, object)
			err := w.shoot.Update(t.Context(), object, client.FieldOwner("somebody"))
			if apierrors.IsConflict(err) {
				return err
			}
			w.Expect(err).NotTo(HaveOccurred(), "%s %s", object.GetKind(), object.GetName())
			w.Expect(normalized(w, object)).NotTo(Equal(before[keyOf(object)]), "the API server took what we did to %s", keyOf(object))
			return nil
		}).Should(Succeed())
	}
	w.Eventually(func() []string { return difference(before, w.snapshot(w.shoot)) }).WithPolling(time.Second).Should(BeEmpty())
	w.succeeds()
	w.delete()
}

// vandalize changes something of ours in an object, and adds something to it.
func vandalize(w *world, object *unstructured.Unstructured) {
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
		first["image"] = "example.org/somebody/else:v1"
		env, _ := first["env"].([]any)
		first["env"] = append(env, map[string]any{"name": "SOMEBODY", "value": "was here"})
		set(containers, "spec", "template", "spec", "containers")
		set(int64(7), "spec", "template", "spec", "terminationGracePeriodSeconds")
	case "ConfigMap":
		set("was here", "data", "somebody")
	case "ClusterRole", "Role":
		set([]any{map[string]any{"apiGroups": []any{""}, "resources": []any{"secrets"}, "verbs": []any{"get"}}}, "rules")
	case "ClusterRoleBinding", "RoleBinding":
		set([]any{map[string]any{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "somebody"}}, "subjects")
	case "ServiceAccount":
		set(true, "automountServiceAccountToken")
	case "Service":
		set(map[string]any{"somebody": "else"}, "spec", "selector")
	case "IPPool":
		set(false, "spec", "natOutgoing")
		set("was here", "spec", "somebody")
	case "CustomResourceDefinition":
		set([]any{"somebodys-" + strings.Split(object.GetName(), ".")[0]}, "spec", "names", "shortNames")
	case "PodDisruptionBudget":
		set(int64(5), "spec", "maxUnavailable")
	case "NetworkPolicy":
		set([]any{"Ingress", "Egress"}, "spec", "policyTypes")
	case "PriorityClass":
		set("somebody was here", "description")
	}
}
