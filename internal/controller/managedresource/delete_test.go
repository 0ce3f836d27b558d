// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// A ManagedResource that is being deleted exists until its objects are gone. The operator
// deletes custom resources before their CRD.
func TestDeletion(t *testing.T) {
	e := newEnv(t)
	crd, widget := e.widgets("deletions")
	widget.SetFinalizers([]string{holder})
	one := e.configMap("one")
	mr := e.state("network", crd, widget, one)
	e.operator()
	e.becomesGood("network")

	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.Eventually(e.conditions("network")).Should(And(
		HaveKeyWithValue("ResourcesApplied", "Progressing DeletionPending"),
		HaveKeyWithValue("ResourcesHealthy", "False DeletionPending"),
		HaveKeyWithValue("ResourcesProgressing", "True DeletionPending")))
	e.Eventually(e.exists(one)).Should(BeFalse())
	e.Expect(live(e, crd).DeletionTimestamp).To(BeNil())

	change(e, widget, func(w *unstructured.Unstructured) { w.SetFinalizers(nil) })
	e.isGone(mr)
	e.Expect(e.exists(crd)()).To(BeFalse())
	writes := e.audit.writes()
	e.Expect(slices.IndexFunc(writes, func(w string) bool { return strings.Contains(w, "DELETE") && strings.HasSuffix(w, "/w") })).
		To(BeNumerically("<", slices.IndexFunc(writes, func(w string) bool {
			return strings.Contains(w, "DELETE") && strings.Contains(w, "customresourcedefinitions")
		})))
}

// With keepObjects, the operator sends no request to the shoot.
func TestKeepObjects(t *testing.T) {
	contract.Shows(t, "R18")
	e := newEnv(t)
	one := e.configMap("one")
	mr := e.state("network", one)
	stop := e.operator()
	e.becomesGood("network")
	stop()
	e.edit("network", func(mr *resourcesv1alpha1.ManagedResource) { mr.Spec.KeepObjects = ptr.To(true) })
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())

	e.audit.reset()
	e.operator()
	e.isGone(mr)
	e.Expect(e.exists(one)()).To(BeTrue())
	e.Expect(e.audit.sent("shoot ")).To(BeEmpty())
}

// The operator does not reconcile an ignored ManagedResource until a user deletes it.
func TestIgnoredManagedResource(t *testing.T) {
	contract.Shows(t, "R9")
	e := newEnv(t)
	one := e.configMap("one", "key", "value")
	mr := e.state("network", one)
	e.operator()
	e.becomesGood("network")

	e.edit("network", func(mr *resourcesv1alpha1.ManagedResource) {
		mr.Annotations = map[string]string{resourcesv1alpha1.Ignore: "true"}
	})
	e.Eventually(e.conditions("network")).Should(Equal(map[string]string{
		"ResourcesApplied":     "True ManagedResourceIgnored",
		"ResourcesHealthy":     "True ManagedResourceIgnored",
		"ResourcesProgressing": "False ManagedResourceIgnored",
	}))
	change(e, one, func(cm *corev1.ConfigMap) { cm.Data["key"] = "theirs" })
	e.Consistently(func() string { return live(e, one).Data["key"] }, "2s").Should(Equal("theirs"))

	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.isGone(mr)
	e.Expect(e.exists(one)()).To(BeFalse())
}

// Without the annotation the conditions are as before, though nothing else has changed.
func TestAManagedResourceThatIsNotIgnoredAnyMore(t *testing.T) {
	contract.Shows(t, "R9")
	e := newEnv(t)
	e.state("network", e.configMap("one"))
	e.operator()
	e.becomesGood("network")
	e.edit("network", func(mr *resourcesv1alpha1.ManagedResource) {
		mr.Annotations = map[string]string{resourcesv1alpha1.Ignore: "true"}
	})
	e.Eventually(e.conditions("network")).Should(HaveKeyWithValue("ResourcesApplied", "True ManagedResourceIgnored"))
	e.edit("network", func(mr *resourcesv1alpha1.ManagedResource) { mr.Annotations = nil })
	e.becomesGood("network")
}

// An ignored ManagedResource whose class changes keeps its objects until a user removes
// the annotation.
func TestAnIgnoredManagedResourceThatChangesItsClass(t *testing.T) {
	contract.Shows(t, "R9", "R17")
	e := newEnv(t)
	one := e.configMap("one")
	e.state("network", one)
	e.operator()
	e.becomesGood("network")

	e.edit("network", func(mr *resourcesv1alpha1.ManagedResource) {
		mr.Annotations = map[string]string{resourcesv1alpha1.Ignore: "true"}
		mr.Spec.Class = ptr.To("other")
	})
	e.Eventually(e.conditions("network")).Should(HaveKeyWithValue("ResourcesApplied", "True ManagedResourceIgnored"))
	e.Expect(e.get("network").Finalizers).To(ConsistOf(Finalizer))
	e.Expect(e.exists(one)()).To(BeTrue())

	e.edit("network", func(mr *resourcesv1alpha1.ManagedResource) { mr.Annotations = nil })
	e.Eventually(func() []string { return e.get("network").Finalizers }).Should(BeEmpty())
	e.Expect(e.exists(one)()).To(BeFalse())
}

// The default class has a name. Setting it changes nothing.
func TestTheDefaultClassByItsName(t *testing.T) {
	contract.Shows(t, "R17")
	e := newEnv(t)
	one := e.configMap("one")
	e.state("network", one)
	e.operator(func(o *Options) { o.Class = DefaultClass })
	e.becomesGood("network")
	e.Expect(e.get("network").Finalizers).To(ConsistOf(Finalizer))
	uid := live(e, one).UID

	for _, class := range []*string{ptr.To(DefaultClass), ptr.To(""), ptr.To(DefaultClass), nil} {
		e.edit("network", func(mr *resourcesv1alpha1.ManagedResource) { mr.Spec.Class = class })
		e.becomesGood("network")
		e.Expect(e.get("network").Finalizers).To(ConsistOf(Finalizer))
		e.Expect(live(e, one).UID).To(Equal(uid))
	}
	e.Expect(e.audit.sent("shoot DELETE")).To(BeEmpty())
}

// The operator does not touch a ManagedResource of another class. If the class changes, it
// deletes the objects.
func TestOtherClasses(t *testing.T) {
	contract.Shows(t, "R17")
	e := newEnv(t)
	one := e.configMap("one")
	e.state("network", one)
	e.operator()
	e.becomesGood("network")

	e.edit("network", func(mr *resourcesv1alpha1.ManagedResource) { mr.Spec.Class = ptr.To("other") })
	e.Eventually(func() []string { return e.get("network").Finalizers }).Should(BeEmpty())
	e.Expect(e.exists(one)()).To(BeFalse())
	e.Expect(e.get("network").Status).To(BeZero(), "of objects that are gone there is nothing to report")

	e.edit("network", func(mr *resourcesv1alpha1.ManagedResource) { mr.Finalizers = []string{Finalizer + "-other"} })
	e.edit("network", func(mr *resourcesv1alpha1.ManagedResource) { mr.Spec.Class = nil })
	e.Consistently(e.exists(one), "2s").Should(BeFalse())
	e.edit("network", func(mr *resourcesv1alpha1.ManagedResource) { mr.Finalizers = nil })
	e.Eventually(e.exists(one)).Should(BeTrue())
}
