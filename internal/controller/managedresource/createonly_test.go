// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// An object that is only to be created is not corrected.
func TestCreateOnlyObjects(t *testing.T) {
	contract.Shows(t, "R8")
	e := newEnv(t)
	cm := e.configMap("one", "key", "value")
	cm.Annotations = map[string]string{resourcesv1alpha1.Ignore: "true"}
	mr := e.state("network", cm)
	e.operator()
	e.becomesGood("network")
	e.Expect(live(e, cm).Annotations).NotTo(HaveKey(resourcesv1alpha1.Origin))
	change(e, cm, func(cm *corev1.ConfigMap) { cm.Data["key"] = "theirs" })
	other := e.configMap("other")
	e.state("network", cm, other)
	e.Eventually(e.exists(other)).Should(BeTrue())
	e.becomesGood("network")
	e.Expect(live(e, cm).Data).To(HaveKeyWithValue("key", "theirs"))
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.isGone(mr)
	e.Expect(e.exists(cm)()).To(BeFalse())
}

// An object that was ours before and is left to others now does not warn any
// more that changes are reverted.
func TestAnObjectLeftToOthersDoesNotWarn(t *testing.T) {
	contract.Shows(t, "R8")
	e := newEnv(t)
	cm := e.configMap("one", "key", "value")
	e.state("network", cm)
	stop := e.operator()
	e.becomesGood("network")
	stop()
	change(e, cm, func(cm *corev1.ConfigMap) { cm.Data["key"] = "theirs" })
	left := cm.DeepCopy()
	left.Annotations = map[string]string{resourcesv1alpha1.Ignore: "true"}
	e.state("network", left)
	e.operator()
	e.Eventually(func() map[string]string { return live(e, cm).Annotations }).ShouldNot(HaveKey(resourcesv1alpha1.Description))
	e.becomesGood("network")
	e.Expect(live(e, cm).Data).To(HaveKeyWithValue("key", "theirs"))
	e.Expect(e.get("network").Status.Resources).To(HaveLen(1))
}

// An object that is left to others is checked as all are, also if another client made it.
func TestObjectsLeftToOthersAreJudged(t *testing.T) {
	contract.Shows(t, "R8")
	for name, before := range map[string]func(*env, *appsv1.Deployment){
		"made by us":        func(*env, *appsv1.Deployment) {},
		"made by the other": func(e *env, d *appsv1.Deployment) { e.Expect(e.shoot.Create(e.ctx, d.DeepCopy())).To(Succeed()) },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			d := e.deployment("d", nil)
			d.Spec.Template.Spec.NodeSelector = map[string]string{"no": "node"}
			before(e, d)
			d.Annotations = map[string]string{resourcesv1alpha1.Ignore: "true"}
			e.state("network", d)
			e.operator()
			e.Eventually(e.conditions("network")).Should(And(
				HaveKeyWithValue("ResourcesApplied", "True ApplySucceeded"),
				HaveKeyWithValue("ResourcesHealthy", "False DeploymentUnhealthy")))
			e.Eventually(e.message("network", "ResourcesHealthy")).Should(Equal("Deployment " + e.namespace + "/d has 0 of 1 pods available."))
		})
	}
}
