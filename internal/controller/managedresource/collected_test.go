// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// What a garbage collector may collect is left to it while the ManagedResource
// lives, as pods of the former version may still need it, and goes with the
// ManagedResource.
func TestGarbageIsLeftToItsCollector(t *testing.T) {
	for name, active := range map[string]bool{"with a collector": true, "without one": false} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			collectable := func(name string) *corev1.ConfigMap {
				cm := e.configMap(name)
				cm.Labels = map[string]string{resourcesv1alpha1.GarbageCollectable: "true"}
				return cm
			}
			former, present, plain := collectable("former"), collectable("present"), e.configMap("plain")
			e.state("network", former, plain)
			e.operator(func(o *Options) { o.GarbageCollected = active })
			e.becomesGood("network")

			mr := e.state("network", present)
			e.Eventually(e.exists(present)).Should(BeTrue())
			e.becomesGood("network")
			e.Expect(e.exists(former)()).To(Equal(active))
			e.Expect(e.exists(plain)()).To(BeFalse())
			e.Expect(e.get("network").Status.Resources).To(HaveLen(1))

			e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
			e.isGone(mr)
			e.Expect(e.exists(present)()).To(BeFalse())
		})
	}
}
