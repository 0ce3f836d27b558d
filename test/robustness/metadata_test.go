// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
)

const (
	theirs = "example.org/theirs"
	// loadBalancers is an annotation by which a cloud provider finds its load balancer.
	loadBalancers = "loadbalancer.openstack.org/load-balancer-id"
	noCleanup     = "shoot.gardener.cloud/no-cleanup"
)

// The rules for the metadata of objects (Gardener contract, R10, R15), and for the labels that
// the resource manager adds to the templates of workloads.
var metadataStories = []*story{
	storyOf("labels and annotations of users", func(w *world, text string) plugin.Object { return content(w, "a", text) }, func(w *world) {
		change(w, "a", &corev1.ConfigMap{}, func(cm *corev1.ConfigMap) {
			metav1.SetMetaDataLabel(&cm.ObjectMeta, theirs, "yes")
			metav1.SetMetaDataAnnotation(&cm.ObjectMeta, theirs, "yes")
			cm.Finalizers = append(cm.Finalizers, theirs)
			cm.Data["theirs"] = "yes"
		})
	}, func(w *world) {
		cm := there(w, "a", &corev1.ConfigMap{})
		w.Expect(cm.Labels).To(HaveKeyWithValue(theirs, "yes"))
		w.Expect(cm.Annotations).To(HaveKeyWithValue(theirs, "yes"))
		w.Expect(cm.Finalizers).To(ConsistOf(theirs))
		w.Expect(cm.Data).To(Equal(map[string]string{"content": "blue"}), "the resource manager must remove the field of another client")
		w.Expect(managers(cm, "f:content")).To(Equal([]string{"trellis"}))
	}),
	storyOf("labels and annotations that are removed from the bundle", func(w *world, text string) plugin.Object {
		cm := content(w, "a", text, "example.org/"+text+"=yes")
		cm.Labels = map[string]string{"example.org/" + text: "yes"}
		return cm
	}, nil, func(w *world) {
		cm := there(w, "a", &corev1.ConfigMap{})
		w.Expect(cm.Labels).To(And(HaveKey("example.org/blue"), Not(HaveKey("example.org/red"))))
		w.Expect(cm.Annotations).To(And(HaveKey("example.org/blue"), Not(HaveKey("example.org/red"))))
	}),
	{
		name:  "owners",
		first: func(w *world) []plugin.Object { return objects(content(w, "a", "red"), content(w, "b", "red")) },
		then: func(w *world) {
			owner := there(w, "b", &corev1.ConfigMap{})
			change(w, "a", &corev1.ConfigMap{}, func(cm *corev1.ConfigMap) {
				cm.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
			})
		},
		second: func(w *world) []plugin.Object { return objects(content(w, "a", "blue"), content(w, "b", "blue")) },
		check:  func(w *world) { w.Expect(there(w, "a", &corev1.ConfigMap{}).OwnerReferences).To(BeEmpty()) },
	},
	storyOf("labels that the resource manager adds", func(w *world, text string) plugin.Object { return daemonSet(w.run, text) }, func(w *world) {
		change(w, "agent", &appsv1.DaemonSet{}, func(d *appsv1.DaemonSet) {
			delete(d.Labels, resourcesv1alpha1.ManagedBy)
			d.Labels[noCleanup], d.Spec.Template.Labels[noCleanup] = "false", "false"
			delete(d.Spec.Template.Labels, resourcesv1alpha1.ManagedBy)
		})
	}, func(w *world) {
		d := there(w, "agent", &appsv1.DaemonSet{})
		for _, labels := range []map[string]string{d.Labels, d.Spec.Template.Labels} {
			w.Expect(labels).To(And(HaveKeyWithValue(resourcesv1alpha1.ManagedBy, w.run), HaveKeyWithValue(noCleanup, "true")))
		}
	}),
	storyOf("origin and description", func(w *world, text string) plugin.Object { return content(w, "a", text) },
		func(w *world) {
			change(w, "a", &corev1.ConfigMap{}, func(cm *corev1.ConfigMap) {
				delete(cm.Annotations, resourcesv1alpha1.Origin)
				cm.Annotations[resourcesv1alpha1.Description] = "theirs"
			})
		}, func(w *world) {
			cm := there(w, "a", &corev1.ConfigMap{})
			w.Expect(cm.Annotations).To(HaveKeyWithValue(resourcesv1alpha1.Origin, w.namespace()+"/"+managedName))
			w.Expect(cm.Annotations).To(HaveKeyWithValue(resourcesv1alpha1.Description, HavePrefix("DO NOT EDIT")))
		}),
}
