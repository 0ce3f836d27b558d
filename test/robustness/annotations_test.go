// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
)

var annotationStories = []*story{
	{
		name:   "ignore on the ManagedResource",
		first:  func(w *world) []plugin.Object { return objects(content(w, "a", "red"), content(w, "b", "red")) },
		then:   ignore,
		second: func(w *world) []plugin.Object { return objects(content(w, "a", "blue")) },
		asIs:   true,
		check: func(w *world) {
			w.Expect(there(w, "a", &corev1.ConfigMap{}).Data).To(HaveKeyWithValue("content", "red"))
			w.Expect(w.isThere("b", &corev1.ConfigMap{})).To(BeTrue())
		},
	},
	{
		name:  "the operation annotation on the ManagedResource",
		first: func(w *world) []plugin.Object { return objects(content(w, "a", "red")) },
		manage: func(_ *world, mr *resourcesv1alpha1.ManagedResource) {
			metav1.SetMetaDataAnnotation(&mr.ObjectMeta, extensionsv1alpha1.OperationAnnotation, reconcile)
		},
		second: func(w *world) []plugin.Object { return objects(content(w, "a", "blue")) },
		check: func(w *world) {
			w.Expect(w.managed(managedName).Annotations).NotTo(HaveKey(extensionsv1alpha1.OperationAnnotation))
			w.Expect(there(w, "a", &corev1.ConfigMap{}).Data).To(HaveKeyWithValue("content", "blue"))
		},
	},
	{
		name:  "ignore on a ManagedResource that is deleted",
		first: func(w *world) []plugin.Object { return objects(content(w, "a", "red")) },
		then:  ignore,
		check: func(w *world) { w.Expect(w.isThere("a", &corev1.ConfigMap{})).To(BeFalse()) },
	},
	{
		name:   "delete-on-invalid-update",
		first:  func(w *world) []plugin.Object { return objects(selecting(w, "one")) },
		second: func(w *world) []plugin.Object { return objects(selecting(w, "two")) },
		goes:   []string{"agent"},
		check: func(w *world) {
			w.Expect(there(w, "agent", &appsv1.Deployment{}).Spec.Selector.MatchLabels).To(HaveKeyWithValue("app", "two"))
		},
	},
	{
		name:   "immutable objects",
		first:  func(w *world) []plugin.Object { return objects(immutable(w, "red")) },
		second: func(w *world) []plugin.Object { return objects(immutable(w, "blue")) },
		goes:   []string{"a"},
		check: func(w *world) {
			w.Expect(there(w, "a", &corev1.ConfigMap{}).Data).To(HaveKeyWithValue("content", "blue"))
		},
	},
	{
		name:   "garbage-collectable-reference",
		first:  func(w *world) []plugin.Object { return referring(w, "red") },
		second: func(w *world) []plugin.Object { return referring(w, "blue") },
		goes:   []string{"red"},
		ends: func(w *world) {
			w.Eventually(func() bool { return w.isThere("red", &corev1.ConfigMap{}) }).Should(BeFalse())
		},
		check: func(w *world) { w.Expect(w.isThere("blue", &corev1.ConfigMap{})).To(BeTrue()) },
	},
	{
		name: "keep-object",
		first: func(w *world) []plugin.Object {
			return objects(content(w, "a", "red"), content(w, "b", "red", resourcesv1alpha1.KeepObject+"=true"), content(w, "c", "red"))
		},
		second: func(w *world) []plugin.Object { return objects(content(w, "a", "blue")) },
		goes:   []string{"c"},
		check: func(w *world) {
			w.Expect(w.isThere("b", &corev1.ConfigMap{})).To(BeTrue())
			w.Expect(w.isThere("c", &corev1.ConfigMap{})).To(BeFalse())
		},
	},
	{
		name: "keep-object when the ManagedResource is deleted",
		first: func(w *world) []plugin.Object {
			return objects(content(w, "a", "red"), content(w, "b", "red", resourcesv1alpha1.KeepObject+"=true"))
		},
		check: func(w *world) {
			w.Expect(w.isThere("b", &corev1.ConfigMap{})).To(BeTrue())
			w.Expect(w.isThere("a", &corev1.ConfigMap{})).To(BeFalse())
		},
	},
	{
		name:  "keep-object that others have set",
		first: func(w *world) []plugin.Object { return objects(content(w, "a", "red"), content(w, "b", "red")) },
		then: func(w *world) {
			change(w, "b", &corev1.ConfigMap{}, func(cm *corev1.ConfigMap) { cm.Annotations[resourcesv1alpha1.KeepObject] = "true" })
		},
		second: func(w *world) []plugin.Object { return objects(content(w, "a", "blue")) },
		check:  func(w *world) { w.Expect(w.isThere("b", &corev1.ConfigMap{})).To(BeTrue()) },
	},
	{
		name:  "keepObjects",
		first: func(w *world) []plugin.Object { return objects(content(w, "a", "red"), content(w, "b", "red")) },
		then: func(w *world) {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"keepObjects":true}}`))
			w.Expect(w.api.client.Patch(w.ctx, w.managed(managedName), patch)).To(Succeed())
		},
		check: func(w *world) {
			w.Expect(w.isThere("a", &corev1.ConfigMap{})).To(BeTrue())
			w.Expect(w.isThere("b", &corev1.ConfigMap{})).To(BeTrue())
		},
	},
	storyOf("preserve-replicas", func(w *world, text string) plugin.Object {
		d := deployment(w, text)
		d.Spec.Replicas = ptr.To[int32](1)
		return annotated(d, resourcesv1alpha1.PreserveReplicas+"=true")
	}, scale, func(w *world) {
		d := there(w, "agent", &appsv1.Deployment{})
		w.Expect(d.Spec.Replicas).To(HaveValue(Equal(int32(3))))
		w.Expect(colorOf(&d.Spec.Template)).To(Equal("blue"))
	}),
	storyOf("preserve-resources", func(w *world, text string) plugin.Object {
		d := deployment(w, text)
		d.Spec.Template.Spec.Containers[0].Resources.Requests = quantities("cpu", "10m")
		return annotated(d, resourcesv1alpha1.PreserveResources+"=true")
	}, resize, func(w *world) {
		d := there(w, "agent", &appsv1.Deployment{})
		w.Expect(d.Spec.Template.Spec.Containers[0].Resources.Requests.Cpu().String()).To(Equal("70m"))
		w.Expect(d.Spec.Template.Spec.Containers[0].Resources.Limits.Memory().String()).To(Equal("70Mi"))
		w.Expect(colorOf(&d.Spec.Template)).To(Equal("blue"))
	}),
	storyOf("skip-health-check", func(w *world, text string) plugin.Object {
		d := daemonSet(w.run, text)
		return annotated(d, resourcesv1alpha1.SkipHealthCheck+"=true")
	}, nil, func(w *world) {
		for _, c := range w.managed(managedName).Status.Conditions {
			if c.Type == resourcesv1alpha1.ResourcesHealthy {
				w.Expect(string(c.Status)).To(Equal("True"))
			}
		}
	}),
	{
		name:  "a finalizer of another class",
		first: func(w *world) []plugin.Object { return objects(content(w, "a", "red")) },
		manage: func(_ *world, mr *resourcesv1alpha1.ManagedResource) {
			mr.Finalizers = append(mr.Finalizers, "resources.gardener.cloud/gardener-resource-manager-other")
		},
		second: func(w *world) []plugin.Object { return objects(content(w, "a", "blue")) },
		asIs:   true,
		check: func(w *world) {
			w.Expect(there(w, "a", &corev1.ConfigMap{}).Data).To(HaveKeyWithValue("content", "red"))
			w.Expect(w.managed(managedName).Finalizers).To(HaveLen(2))
		},
	},
	{
		name:  "a Secret that cannot be read",
		first: func(w *world) []plugin.Object { return objects(content(w, "a", "red"), content(w, "b", "red")) },
		act: func(w *world) {
			w.Expect(w.api.client.DeleteAllOf(w.ctx, &corev1.Secret{}, client.InNamespace(w.namespace()),
				client.HasLabels{resourcesv1alpha1.GarbageCollectable})).To(Succeed())
			w.Eventually(func() bool { mr := w.managed(managedName); return mr != nil && reasonOf(mr) == "CannotReadSecret" }).
				WithTimeout(*stuckAfter).Should(BeTrue())
		},
		asIs: true,
		check: func(w *world) {
			w.Expect(w.isThere("a", &corev1.ConfigMap{})).To(BeTrue())
			w.Expect(w.isThere("b", &corev1.ConfigMap{})).To(BeTrue())
		},
	},
}

// ignore annotates the ManagedResource, so that the resource manager ignores it.
func ignore(w *world) {
	mr := w.managed(managedName)
	before := mr.DeepCopy()
	metav1.SetMetaDataAnnotation(&mr.ObjectMeta, resourcesv1alpha1.Ignore, "true")
	w.Expect(w.api.client.Patch(w.ctx, mr, client.MergeFrom(before))).To(Succeed())
}

// selecting returns a Deployment that is recreated if its selector changes, since a selector
// cannot be updated.
func selecting(w *world, app string) *appsv1.Deployment {
	d := deployment(w, "red")
	d.Spec.Selector.MatchLabels, d.Spec.Template.Labels = map[string]string{"app": app}, map[string]string{"app": app}
	return annotated(d, resourcesv1alpha1.DeleteOnInvalidUpdate+"=true")
}

func immutable(w *world, text string) *corev1.ConfigMap {
	cm := content(w, "a", text)
	cm.Immutable = ptr.To(true)
	return cm
}

// referring returns a Deployment that refers to a ConfigMap. A garbage collector may delete
// the ConfigMap once no object refers to it. The ConfigMap is named after its content.
func referring(w *world, text string) []plugin.Object {
	cm := content(w, text, text)
	cm.Labels = map[string]string{resourcesv1alpha1.GarbageCollectable: "true"}
	return objects(cm, annotated(deployment(w, text), resourcesv1alpha1.ReferencePrefix+"configmap-"+text+"="+cm.Name))
}

func reasonOf(mr *resourcesv1alpha1.ManagedResource) string {
	for _, c := range mr.Status.Conditions {
		if c.Type == resourcesv1alpha1.ResourcesApplied {
			return c.Reason
		}
	}
	return ""
}
