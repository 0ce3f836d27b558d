// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

func (e *env) daemonSet(name string) *appsv1.DaemonSet {
	labels := map[string]string{"app": name}
	return &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name, Labels: map[string]string{"ours": "yes"}},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{
						Name: "agent", Image: "registry.example/agent:1",
						Env: []corev1.EnvVar{{Name: "OURS", Value: "1"}},
					}},
					Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
				},
			},
		},
	}
}

// The operator creates objects in the order of their kinds, with its labels and annotations.
func TestObjectsAreAppliedInOrderAndMarked(t *testing.T) {
	contract.Shows(t, "R3", "R15", "R33")
	e := newEnv(t)
	class := &schedulingv1.PriorityClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1", Kind: "PriorityClass"},
		ObjectMeta: metav1.ObjectMeta{Name: e.namespace}, Value: 1,
	}
	account := &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "agent"},
	}
	agent := e.daemonSet("agent")
	e.state("network", agent, e.configMap("agent", "a", "b"), account, class)
	e.operator()
	e.becomesGood("network")

	var order []string
	for _, request := range e.audit.sent("shoot PATCH") {
		parts := strings.Split(request, "/")
		order = append(order, parts[len(parts)-2])
	}
	e.Expect(order).To(Equal([]string{"priorityclasses", "serviceaccounts", "configmaps", "daemonsets"}))
	e.Expect(e.audit.sent("shoot ", "dry-run")).To(BeEmpty(), "a new object needs no comparison")
	e.Expect(append(e.audit.sent("shoot GET", "/agent"), e.audit.sent("shoot GET", "/priorityclasses/")...)).
		To(BeEmpty(), "nor a read")

	got := live(e, agent)
	e.Expect(got.Annotations).To(HaveKeyWithValue(resourcesv1alpha1.Origin, e.namespace+"/network"))
	e.Expect(got.Annotations[resourcesv1alpha1.Description]).To(HavePrefix("DO NOT EDIT"))
	marks := And(HaveKeyWithValue(resourcesv1alpha1.ManagedBy, "gardener"), HaveKeyWithValue("injected", "yes"))
	e.Expect(got.Labels).To(And(marks, HaveKeyWithValue("ours", "yes")))
	e.Expect(got.Spec.Template.Labels).To(And(marks, HaveKeyWithValue("app", "agent")))

	mr := e.get("network")
	var inventory []string
	for _, ref := range mr.Status.Resources {
		inventory = append(inventory, ref.APIVersion+" "+ref.Kind)
	}
	e.Expect(inventory).To(Equal([]string{"v1 ConfigMap", "v1 ServiceAccount", "apps/v1 DaemonSet", "scheduling.k8s.io/v1 PriorityClass"}))
	e.Expect(mr.Finalizers).To(ContainElement(Finalizer))
	e.Expect(*mr.Status.SecretsDataChecksum).To(HaveLen(64))
}

// After a change of the content, health is unknown until all objects are applied.
func TestChangedContentResetsHealth(t *testing.T) {
	contract.Shows(t, "R24", "R32")
	e := newEnv(t)
	e.state("network", e.configMap("one"))
	e.operator()
	e.becomesGood("network")

	invalid := e.configMap("two")
	invalid.Data["not/a/key"] = ""
	mr := e.state("network", e.configMap("one"), invalid)
	e.Eventually(e.conditions("network")).Should(And(
		HaveKeyWithValue("ResourcesApplied", "False ApplyFailed"),
		HaveKeyWithValue("ResourcesHealthy", "Unknown ChecksPending"),
		HaveKeyWithValue("ResourcesProgressing", "Unknown ChecksPending"),
		HaveKey("outdated"),
	))
	e.Expect(e.message("network", resourcesv1alpha1.ResourcesApplied)()).To(
		HavePrefix(`error during apply of object "v1/ConfigMap/%s/two": ConfigMap "two" is invalid: data[not/a/key]`, e.namespace))
	e.Expect(mr.Generation).To(BeEquivalentTo(2))

	e.state("network", e.configMap("one"), e.configMap("two"))
	e.becomesGood("network")
}
