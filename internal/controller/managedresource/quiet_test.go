// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// While nothing changes, a run sends no request, neither to the seed nor to the shoot. After
// a restart it compares by dry-run, and writes nothing.
func TestQuietWhenNothingChanges(t *testing.T) {
	e := newEnv(t)
	crd, widget := e.widgets("quiet")
	mr := e.state("network", e.daemonSet("agent"), e.deployment("controller", nil), e.configMap("one", "a", "b"), crd, widget)
	often := func(o *Options) { o.SyncPeriod = 100 * time.Millisecond }
	stop := e.operator(often)
	e.becomesGood("network")

	settled := func(g Gomega) {
		e.audit.reset()
		g.Consistently(func() []string { return e.audit.sent("") }, "1s").Should(BeEmpty())
	}
	e.Eventually(settled).Should(Succeed())
	e.Consistently(func() []string { return e.audit.sent("") }, "2s").Should(BeEmpty(), "some twenty runs")

	stop()
	e.audit.reset()
	e.operator(often)
	e.Eventually(func() []string { return e.audit.sent("shoot ", "dry-run") }).Should(HaveLen(5))
	e.Expect(e.audit.writes()).To(BeEmpty())
	e.Eventually(settled).Should(Succeed())

	// With the operation annotation, the operator reads all objects and removes it.
	e.edit("network", func(mr *resourcesv1alpha1.ManagedResource) {
		mr.Annotations = map[string]string{"gardener.cloud/operation": "reconcile"}
	})
	e.Eventually(func() []string { return e.audit.sent("shoot GET") }).Should(HaveLen(5))
	e.Expect(e.audit.sent("dry-run")).To(BeEmpty())
	e.Expect(e.get("network").Annotations).To(BeEmpty())
	e.Expect(e.audit.writes()).To(HaveLen(1))
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.isGone(mr)
}
