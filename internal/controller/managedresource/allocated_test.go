// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/test/contract"
)

// claim is what a StatefulSet makes claims of; it can never be changed.
func claim(storage string) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse(storage)}},
		},
	}
}

// What Kubernetes itself puts into objects stays in each of their
// updates, and what can never be updated is no reason to fail.
func TestWhatKubernetesPutsIntoObjectsStays(t *testing.T) {
	contract.Shows(t, "R30")
	e := newEnv(t)
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: e.namespace, Name: name} }
	job := &batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: meta("job"),
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, NodeSelector: map[string]string{"no": "node"},
			Containers: []corev1.Container{{Name: "c", Image: "registry.example/c:1"}},
		}}}}
	d := e.deployment("set", nil)
	set := &appsv1.StatefulSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, ObjectMeta: meta("set"),
		Spec: appsv1.StatefulSetSpec{Selector: d.Spec.Selector, Template: d.Spec.Template,
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{claim("1Gi")}}}
	account := &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: meta("account")}
	role := &rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: e.namespace}, AggregationRule: &rbacv1.AggregationRule{
			ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"aggregate": e.namespace}}}}}
	part := &rbacv1.ClusterRole{TypeMeta: role.TypeMeta, ObjectMeta: metav1.ObjectMeta{Name: e.namespace + "-part",
		Labels: map[string]string{"aggregate": e.namespace}},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}}
	all := []client.Object{job, set, account, role, part}
	mr := e.state("network", all...)
	e.operator()
	applied := HaveKeyWithValue("ResourcesApplied", "True ApplySucceeded")
	e.Eventually(e.conditions("network")).Should(applied)
	e.Eventually(func() []rbacv1.PolicyRule { return live(e, role).Rules }).Should(HaveLen(1))
	change(e, account, func(a *corev1.ServiceAccount) {
		a.Secrets, a.ImagePullSecrets = []corev1.ObjectReference{{Name: "s"}}, []corev1.LocalObjectReference{{Name: "p"}}
	})
	selector := live(e, job).Spec.Selector
	e.Expect(selector).NotTo(BeNil())

	for _, each := range all {
		labels := each.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["later"] = "yes"
		each.SetLabels(labels)
	}
	set.Spec.VolumeClaimTemplates[0] = claim("2Gi")
	e.state("network", all...)
	for _, each := range all {
		e.Eventually(func() map[string]string { return live(e, each).GetLabels() }).Should(HaveKey("later"))
	}
	e.Eventually(e.conditions("network")).Should(And(applied, Not(HaveKey("outdated"))))
	e.Expect(live(e, job).Spec.Selector).To(Equal(selector))
	e.Expect(live(e, set).Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage().String()).To(Equal("1Gi"))
	e.Expect(live(e, account).Secrets).To(HaveLen(1))
	e.Expect(live(e, account).ImagePullSecrets).To(HaveLen(1))
	e.Eventually(func() []rbacv1.PolicyRule { return live(e, role).Rules }).Should(HaveLen(1))
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.isGone(mr)
}
