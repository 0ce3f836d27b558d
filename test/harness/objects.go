// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// PutShoot writes the Cluster of a control plane with this Shoot, as the gardenlet does.
func (c *Cluster) PutShoot(tb testing.TB, namespace string, shoot *corev1beta1.Shoot) {
	tb.Helper()
	shoot.TypeMeta = metav1.TypeMeta{APIVersion: corev1beta1.GroupVersion.String(), Kind: "Shoot"}
	raw, err := json.Marshal(shoot)
	if err != nil {
		tb.Fatal(err)
	}
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	c.put(tb, cluster, func() {
		cluster.Spec.CloudProfile = runtime.RawExtension{Raw: []byte(`{}`)}
		cluster.Spec.Shoot = runtime.RawExtension{Raw: raw}
	})
}

// PutAccess writes the Secret in a control plane's namespace that gives the operator access
// to the shoot.
func (c *Cluster) PutAccess(tb testing.TB, namespace string, kubeconfig []byte) {
	tb.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "gardener", Namespace: namespace}}
	c.put(tb, secret, func() { secret.Data = map[string][]byte{"kubeconfig": kubeconfig} })
}

func (c *Cluster) put(tb testing.TB, object client.Object, change func()) {
	tb.Helper()
	if _, err := ctrl.CreateOrPatch(tb.Context(), c, object, func() error { change(); return nil }); err != nil {
		tb.Fatal(err)
	}
}

// Change reads an object and patches it, as a user would.
func Change[O client.Object](tb testing.TB, c *Cluster, object O, change func(O)) {
	tb.Helper()
	before := fresh(tb, c, object)
	change(object)
	if err := c.Patch(tb.Context(), object, client.MergeFrom(before)); err != nil {
		tb.Fatal(err)
	}
}

// ChangeStatus reads an object and patches its status, as a controller would.
func ChangeStatus[O client.Object](tb testing.TB, c *Cluster, object O, change func(O)) {
	tb.Helper()
	before := fresh(tb, c, object)
	change(object)
	if err := c.Status().Patch(tb.Context(), object, client.MergeFrom(before)); err != nil {
		tb.Fatal(err)
	}
}

func fresh[O client.Object](tb testing.TB, c *Cluster, object O) (copied O) {
	tb.Helper()
	c.Read(tb, object)
	return object.DeepCopyObject().(O)
}

// Read reads an object, and fails the test if it does not exist.
func (c *Cluster) Read(tb testing.TB, object client.Object) {
	tb.Helper()
	if err := c.Get(tb.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		tb.Fatal(err)
	}
}

// Await waits until an object exists, and reads it.
func (c *Cluster) Await(tb testing.TB, object client.Object) {
	tb.Helper()
	gomega.NewWithT(tb).Eventually(func() error {
		return c.Get(context.Background(), client.ObjectKeyFromObject(object), object)
	}).Should(gomega.Succeed())
}

// Stays fails the test if an object changes within this time.
func (c *Cluster) Stays(tb testing.TB, object client.Object, while time.Duration) {
	tb.Helper()
	c.Read(tb, object)
	version := object.GetResourceVersion()
	gomega.NewWithT(tb).Consistently(func() string {
		c.Read(tb, object)
		return object.GetResourceVersion()
	}).WithTimeout(while).Should(gomega.Equal(version))
}

// Applied sets the status of a ManagedResource as the resource manager does after it has
// applied the ManagedResource.
func Applied(mr *resourcesv1alpha1.ManagedResource) {
	mr.Status.ObservedGeneration = mr.Generation
	now := metav1.Now()
	mr.Status.Conditions = []corev1beta1.Condition{{
		Type: resourcesv1alpha1.ResourcesApplied, Status: corev1beta1.ConditionTrue, Reason: "ApplySucceeded",
		Message: "All resources are applied.", LastTransitionTime: now, LastUpdateTime: now,
	}}
}
