// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/test/contract"
)

// Updates keep what Kubernetes itself writes into objects.
func TestWhatKubernetesPutsIntoObjectsStays(t *testing.T) {
	contract.Shows(t, "R30")
	e := newEnv(t)
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: e.namespace, Name: name} }
	job := &batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: meta("job"),
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, NodeSelector: map[string]string{"no": "node"},
			Containers: []corev1.Container{{Name: "c", Image: "registry.example/c:1"}},
		}}}}
	account := &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: meta("account")}
	role := &rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: e.namespace}, AggregationRule: &rbacv1.AggregationRule{
			ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"aggregate": e.namespace}}}}}
	part := &rbacv1.ClusterRole{TypeMeta: role.TypeMeta, ObjectMeta: metav1.ObjectMeta{Name: e.namespace + "-part",
		Labels: map[string]string{"aggregate": e.namespace}},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}}
	all := []client.Object{job, account, role, part}
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
	e.state("network", all...)
	for _, each := range all {
		e.Eventually(func() map[string]string { return live(e, each).GetLabels() }).Should(HaveKey("later"))
	}
	e.Eventually(e.conditions("network")).Should(And(applied, Not(HaveKey("outdated"))))
	e.Expect(live(e, job).Spec.Selector).To(Equal(selector))
	e.Expect(live(e, account).Secrets).To(HaveLen(1))
	e.Expect(live(e, account).ImagePullSecrets).To(HaveLen(1))
	e.Eventually(func() []rbacv1.PolicyRule { return live(e, role).Rules }).Should(HaveLen(1))
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.isGone(mr)
}
