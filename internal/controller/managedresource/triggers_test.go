// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// The changes that start a run at once, without waiting for the sync period.
func TestTriggers(t *testing.T) {
	contract.Shows(t, "R21", "R29")
	e := newEnv(t)
	cm := e.configMap("one", "key", "value")
	e.state("network", cm)
	e.operator()
	e.becomesGood("network")
	annotate := func(key, value string) {
		e.edit("network", func(mr *resourcesv1alpha1.ManagedResource) {
			if mr.Annotations == nil {
				mr.Annotations = map[string]string{}
			}
			if mr.Annotations[key] = value; value == "" {
				delete(mr.Annotations, key)
			}
		})
	}

	t.Run("a Secret that is edited in its place", func(*testing.T) {
		secret := &corev1.Secret{}
		name := e.get("network").Spec.SecretRefs[0].Name
		e.Expect(e.seed.Get(e.ctx, client.ObjectKey{Namespace: e.namespace, Name: name}, secret)).To(Succeed())
		cm.Data["key"] = "edited"
		secret.Data["objects.json"] = e.encode(cm)
		e.Expect(e.seed.Update(e.ctx, secret)).To(Succeed())
		e.Eventually(func() string { return live(e, cm).Data["key"] }).Should(Equal("edited"))
		e.becomesGood("network")
	})
	t.Run("the annotation that asks for a reconciliation, which is taken off", func(*testing.T) {
		annotate("gardener.cloud/operation", "reconcile")
		e.Eventually(func() map[string]string { return e.get("network").Annotations }).Should(BeEmpty())
	})
	t.Run("the annotations of a migration, which stay", func(*testing.T) {
		for _, operation := range []string{"migrate", "restore"} {
			annotate("gardener.cloud/operation", operation)
			e.becomesGood("network")
			e.Expect(e.get("network").Annotations).To(HaveKeyWithValue("gardener.cloud/operation", operation))
		}
		annotate("gardener.cloud/operation", "")
	})
	t.Run("the annotation ignore, when it is set and when it is removed", func(*testing.T) {
		annotate(resourcesv1alpha1.Ignore, "true")
		e.Eventually(e.conditions("network")).Should(HaveKeyWithValue("ResourcesHealthy", "True ManagedResourceIgnored"))
		change(e, cm, func(cm *corev1.ConfigMap) { cm.Data["key"] = "theirs" })
		annotate(resourcesv1alpha1.Ignore, "")
		e.Eventually(func() string { return live(e, cm).Data["key"] }).Should(Equal("edited"))
		e.becomesGood("network")
	})
	t.Run("an object that becomes unhealthy", func(*testing.T) {
		agent := e.daemonSet("agent")
		pod(agent).Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("100000")}
		e.state("network", agent)
		e.Eventually(e.conditions("network")).Should(HaveKeyWithValue("ResourcesHealthy", "False DaemonSetUnhealthy"))
	})
}
