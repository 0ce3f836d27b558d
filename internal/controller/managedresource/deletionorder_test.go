// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Each object is deleted in one phase, whatever the order of the inventory: admission first,
// then workloads and at last the agents, then what agents need to clean up, then definitions.
func TestThePhasesOfADeletion(t *testing.T) {
	all := [][]string{
		{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "MutatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "APIService"},
		{"Deployment", "StatefulSet", "Job", "Pod"},
		{"DaemonSet"},
		{"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ConfigMap", "Secret", "Service", "NetworkPolicy", "PriorityClass", "Namespace", "IPPool", "FelixConfiguration"},
		{"CustomResourceDefinition"},
	}
	var refs []reference
	phaseOf := map[string]int{}
	for phase, kinds := range all {
		for _, kind := range kinds {
			phaseOf[kind] = phase
			for i := range 3 {
				refs = append(refs, reference{ObjectReference: corev1.ObjectReference{Kind: kind, Name: fmt.Sprint(i)}})
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfDistinct(rapid.SampledFrom(refs), func(ref reference) string { return ref.Kind + ref.Name }).Draw(t, "inventory")
		phases := deletionPhases(some)
		var divided []reference
		for phase, of := range phases {
			for _, ref := range of {
				if phaseOf[ref.Kind] != phase {
					t.Fatalf("%s is deleted in phase %d", ref.Kind, phase)
				}
			}
			divided = append(divided, of...)
		}
		if len(divided) != len(some) || len(without(some, divided)) > 0 {
			t.Fatalf("%d of %d objects are deleted", len(divided), len(some))
		}
	})
}

// podsOf returns the pods of a workload, once there are some.
func (e *env) podsOf(app string) []corev1.Pod {
	e.t.Helper()
	list := &corev1.PodList{}
	e.Eventually(func() int {
		e.Expect(e.shoot.List(e.ctx, list, client.InNamespace(e.namespace), client.MatchingLabels{"app": app})).To(Succeed())
		return len(list.Items)
	}).Should(BeNumerically(">", 0))
	return list.Items
}

// hold keeps the pods of a workload from ending, until it is called again.
func (e *env) hold(app string, finalizers ...string) {
	e.t.Helper()
	pods := e.podsOf(app)
	for i := range pods {
		pods[i].SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		change(e, &pods[i], func(pod *corev1.Pod) { pod.Finalizers = finalizers })
	}
}

// While a pod has not left the network, its workload is not gone, the agents run, and what
// they need to clean up is there. The message names the workload, and what to do.
func TestWhatPodsNeedToLeaveTheNetworkOutlivesThem(t *testing.T) {
	e := newEnv(t)
	account := &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "agent"},
	}
	role := &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role"},
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "agent"},
	}
	webhook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: e.namespace},
	}
	crd, widget := e.widgets("phases")
	controllers, agent, configuration := e.deployment("controllers", nil), e.daemonSet("agent"), e.configMap("configuration")
	mr := e.state("network", account, role, webhook, crd, widget, controllers, agent, configuration)
	e.operator()
	e.becomesGood("network")
	e.hold("controllers", holder)
	e.hold("agent", holder)

	stay := func(objects ...client.Object) {
		t.Helper()
		for _, each := range objects {
			e.Expect(live(e, each).GetDeletionTimestamp()).To(BeNil(), "%T %s", each, each.GetName())
		}
	}
	e.audit.reset()
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	held := func(kind, name string) {
		t.Helper()
		e.Eventually(e.message("network", "ResourcesApplied")).Should(And(
			HavePrefix(fmt.Sprintf("Waiting until these are deleted: %s %s/%s (deleted at ", kind, e.namespace, name)),
			HaveSuffix("; held by foregroundDeletion)."+advice[0].text)))
	}
	held("Deployment", "controllers")
	e.Expect(e.exists(webhook)()).To(BeFalse())
	stay(agent, account, role, configuration, widget, crd)

	e.hold("controllers")
	held("DaemonSet", "agent")
	e.Expect(e.exists(controllers)()).To(BeFalse())
	stay(account, role, configuration, widget, crd)

	e.hold("agent")
	e.isGone(mr)
	var order []string
	for _, request := range e.audit.writes() {
		if strings.HasPrefix(request, "shoot DELETE") {
			parts := strings.Split(request, "/")
			order = append(order, parts[len(parts)-2])
		}
	}
	e.Expect(order).To(HaveLen(8))
	slices.Sort(order[3:7]) // they are deleted at the same time
	e.Expect(order).To(Equal([]string{"validatingwebhookconfigurations", "deployments", "daemonsets",
		"configmaps", "roles", "serviceaccounts", "widgets", "customresourcedefinitions"}))
}

// A definition waits for objects that users created of its kind. The message tells how to
// find them.
func TestADefinitionWhoseObjectsHangIsNamed(t *testing.T) {
	e := newEnv(t)
	crd, widget := e.widgets("hanging")
	mr := e.state("network", crd)
	e.operator()
	e.becomesGood("network")
	widget.SetFinalizers([]string{holder})
	e.Eventually(func() error { return e.shoot.Create(e.ctx, widget) }).Should(Succeed())
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.Eventually(e.message("network", "ResourcesApplied")).Should(And(
		ContainSubstring("CustomResourceDefinition widgets.hanging.example.com"), ContainSubstring("kubectl get <its name> -A")))
	e.Eventually(func() error { // the API server deletes it at the same time
		fresh := live(e, widget)
		fresh.SetFinalizers(nil)
		return e.shoot.Update(e.ctx, fresh)
	}).Should(Succeed())
	e.isGone(mr)
}
