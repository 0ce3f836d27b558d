// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What changes the fingerprint of an object: all but its status, as far as that can
// be told from its metadata.
func TestFingerprint(t *testing.T) {
	daemonSet := schema.GroupKind{Group: "apps", Kind: "DaemonSet"}
	autoscaler := schema.GroupKind{Group: "autoscaling.k8s.io", Kind: "VerticalPodAutoscaler"}
	widget := schema.GroupKind{Group: "example.com", Kind: "Widget"}
	service := schema.GroupKind{Kind: "Service"}
	newVersion := func(o *metav1.ObjectMeta) { o.ResourceVersion = "2" }
	for _, c := range []struct {
		name    string
		kind    schema.GroupKind
		change  func(*metav1.ObjectMeta)
		differs bool
	}{
		{"a status that others write", daemonSet, newVersion, false},
		{"a status of a custom resource", widget, newVersion, false},
		{"a recommendation", autoscaler, newVersion, false},
		{"anything, where the generation says nothing", service, newVersion, true},
		{"a spec", daemonSet, func(o *metav1.ObjectMeta) { o.Generation = 2 }, true},
		{"a label", widget, func(o *metav1.ObjectMeta) { o.Labels = map[string]string{"a": "b"} }, true},
		{"an annotation", widget, func(o *metav1.ObjectMeta) { o.Annotations = map[string]string{"a": "b"} }, true},
		{"the copy that kubectl apply leaves", widget, func(o *metav1.ObjectMeta) {
			o.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}"}
		}, false},
		{"an owner", widget, func(o *metav1.ObjectMeta) { o.OwnerReferences = []metav1.OwnerReference{{}} }, true},
		{"a finalizer", widget, func(o *metav1.ObjectMeta) { o.Finalizers = []string{"a"} }, true},
		{"a deletion", widget, func(o *metav1.ObjectMeta) { o.DeletionTimestamp = &metav1.Time{} }, true},
		{"the object itself", widget, func(o *metav1.ObjectMeta) { o.UID = "other" }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := &metav1.ObjectMeta{UID: "u", Generation: 1, ResourceVersion: "1"}
			after := before.DeepCopy()
			c.change(after)
			NewWithT(t).Expect(Fingerprint(c.kind, before) != Fingerprint(c.kind, after)).To(Equal(c.differs))
		})
	}
}
