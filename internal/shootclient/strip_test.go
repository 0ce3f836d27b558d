// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
)

// What a user writes into a workload, a definition or a node is not cached, and neither are
// managedFields and the copy of an object that kubectl apply leaves.
func TestObjectsAreCachedWithoutWhatIsNotRead(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", Env: []corev1.EnvVar{{Name: "X", Value: long}}}}}}
	for _, object := range []client.Object{
		&metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}},
		&appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: template}},
		&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: template}},
		&batchv1.Job{Spec: batchv1.JobSpec{Template: template}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": long}, Annotations: map[string]string{"a": long}}, Spec: corev1.NodeSpec{ProviderID: long, Taints: []corev1.Taint{{Key: long}}}},
		&connectivityv1alpha1.NodeConnectivity{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": long}}, Report: connectivityv1alpha1.Report{
			ProbeVersion: long, PodInterface: &connectivityv1alpha1.PodInterface{Name: long},
			Checks: []connectivityv1alpha1.Check{{Results: []connectivityv1alpha1.Result{{Name: "one", Address: long, Error: long}}}}}},
		&apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: long}}}},
	} {
		g := NewWithT(t)
		object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: long}})
		annotations := map[string]string{corev1.LastAppliedConfigAnnotation: long}
		maps.Copy(annotations, object.GetAnnotations())
		object.SetAnnotations(annotations)
		strip(object)
		encoded, err := json.Marshal(object)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(len(encoded)).To(BeNumerically("<", 1024), "%T: %.2000s", object, encoded)
	}
}

// Where controllers declare a namespace, objects of others are not cached, whatever label a
// user gives them, and reading them is an error rather than the answer that there are none.
func TestWorkloadsElsewhereAreNotCached(t *testing.T) {
	e := newEnv(t)
	e.grant(e.shoot.Kubeconfig)
	deployments := appsv1.SchemeGroupVersion.WithKind("Deployment")
	e.clients.Declare(Watch{Kind: deployments, Typed: true, Fields: InSystem})
	in := func(namespace string) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: managed(e.namespace, "users"), Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "c", Image: "i", Env: []corev1.EnvVar{{Name: "X", Value: strings.Repeat("x", 1<<19)}}}},
			}},
		}}
		d.Namespace = namespace
		e.Expect(e.shoot.Create(e.ctx, d)).To(Succeed())
		t.Cleanup(func() { _ = e.shoot.Delete(t.Context(), d) })
		return d
	}
	theirs, ours := in("default"), in(metav1.NamespaceSystem)
	shoot, err := e.clients.For(e.ctx, e.namespace)
	e.Expect(err).NotTo(HaveOccurred())
	list := &appsv1.DeploymentList{}
	e.Expect(shoot.Reader.List(e.ctx, list)).To(Succeed())
	e.Expect(list.Items).To(HaveLen(1))
	e.Expect(list.Items[0].Name).To(Equal(ours.Name))
	e.Expect(list.Items[0].Spec.Template).To(BeZero())
	e.Expect(shoot.Reader.Get(e.ctx, client.ObjectKeyFromObject(theirs), &appsv1.Deployment{})).To(
		MatchError(ContainSubstring("cannot be read from the cache, which has those with metadata.namespace=kube-system")))
}
