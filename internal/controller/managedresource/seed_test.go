// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// stateInSeed writes a ManagedResource of the seed's class.
func (e *env) stateInSeed(name string, objects ...client.Object) *resourcesv1alpha1.ManagedResource {
	e.t.Helper()
	mr := e.state(name, objects...)
	e.edit(name, func(mr *resourcesv1alpha1.ManagedResource) { mr.Spec.Class = ptr.To("seed") })
	return mr
}

// inSeed reads an object of the seed; it is nil if there is none.
func (e *env) inSeed(name string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{}
	err := e.seed.Get(e.ctx, client.ObjectKey{Namespace: e.namespace, Name: name}, cm)
	if apierrors.IsNotFound(err) {
		return nil
	}
	e.Expect(err).NotTo(HaveOccurred())
	return cm
}

// The operator applies objects of class seed in the seed, and reverts their changes.
func TestObjectsForTheSeed(t *testing.T) {
	contract.Shows(t, "R36")
	e := newEnv(t)
	one, two := e.configMap("one", "key", "value"), e.configMap("two")
	mr := e.stateInSeed("monitoring", one, two)
	e.operator()
	e.becomesGood("monitoring")
	e.Expect(e.exists(one)()).To(BeFalse(), "it is not for the shoot")
	e.Expect(e.get("monitoring").Finalizers).To(ConsistOf(Finalizer + "-seed"))
	e.Expect(e.inSeed("one").Data).To(HaveKeyWithValue("key", "value"))

	e.Expect(e.seed.Patch(e.ctx, e.inSeed("one"), client.RawPatch(types.MergePatchType, []byte(`{"data":{"key":"theirs"}}`)))).To(Succeed())
	e.Eventually(func() string { return e.inSeed("one").Data["key"] }).Should(Equal("value"))
	e.Expect(e.seed.Delete(e.ctx, e.inSeed("two"))).To(Succeed())
	e.Eventually(func() any { return e.inSeed("two") }).ShouldNot(BeNil())

	e.stateInSeed("monitoring", one)
	e.Eventually(func() any { return e.inSeed("two") }).Should(BeNil())
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.isGone(mr)
	e.Expect(e.inSeed("one")).To(BeNil())
}

// Control planes share the seed, so objects must be in the namespace of their ManagedResource.
func TestObjectsElsewhereInTheSeedAreRefused(t *testing.T) {
	e := newEnv(t)
	elsewhere := e.configMap("elsewhere")
	elsewhere.Namespace = "default"
	everywhere := &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: e.namespace + "-more"},
	}
	e.stateInSeed("monitoring", e.configMap("here"), elsewhere, everywhere)
	e.operator()
	e.Eventually(e.conditions("monitoring")).Should(HaveKeyWithValue("ResourcesApplied", "False DecodingFailed"))
	e.Expect(e.message("monitoring", "ResourcesApplied")()).To(And(
		ContainSubstring("ConfigMap default/elsewhere is not in the namespace %s", e.namespace),
		ContainSubstring("Namespace %s-more is not in the namespace %s", e.namespace, e.namespace)))
	e.Expect(e.inSeed("here")).NotTo(BeNil())
	e.Expect(apierrors.IsNotFound(e.seed.Get(e.ctx, client.ObjectKeyFromObject(elsewhere), &corev1.ConfigMap{}))).To(BeTrue())
	e.Expect(apierrors.IsNotFound(e.seed.Get(e.ctx, client.ObjectKeyFromObject(everywhere), &corev1.Namespace{}))).To(BeTrue())
}

// The operator deletes nothing in other namespaces of the seed, even if an inventory has it.
func TestNothingElsewhereInTheSeedIsDeleted(t *testing.T) {
	e := newEnv(t)
	bystander := e.configMap(e.namespace)
	bystander.Namespace = "default"
	e.Expect(e.seed.Create(e.ctx, bystander)).To(Succeed())
	mr := e.stateInSeed("monitoring", e.configMap("here"))
	e.edit("monitoring", func(mr *resourcesv1alpha1.ManagedResource) { mr.Finalizers = []string{Finalizer + "-seed"} })
	current := e.get("monitoring")
	patch := client.MergeFrom(current.DeepCopy())
	current.Status.Resources = []resourcesv1alpha1.ObjectReference{{ObjectReference: corev1.ObjectReference{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: bystander.Namespace, Name: bystander.Name}}}
	e.Expect(e.seed.Status().Patch(e.ctx, current, patch)).To(Succeed())
	e.operator()
	e.becomesGood("monitoring")
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.isGone(mr)
	e.Expect(e.seed.Get(e.ctx, client.ObjectKeyFromObject(bystander), bystander)).To(Succeed())
	e.Expect(e.seed.Delete(e.ctx, bystander)).To(Succeed())
}

// The operator leaves out objects whose kind the seed lacks, and names them. It applies them
// when the kind appears, and leaves them out again when it is gone.
func TestKindsThatTheSeedLacksAreLeftOut(t *testing.T) {
	e := newEnv(t)
	crd, widget := e.widgets("inseed")
	crd.Spec.Scope = apiextensionsv1.NamespaceScoped
	widget.SetNamespace(e.namespace)
	leftOut := "All resources are applied. Left out, since the cluster does not have their kinds (Widget.inseed.example.com): Widget " + e.namespace + "/w."
	mr := e.stateInSeed("monitoring", e.configMap("here"), widget)
	e.operator()
	e.becomesGood("monitoring")
	e.Expect(e.message("monitoring", "ResourcesApplied")()).To(Equal(leftOut))
	e.Expect(e.get("monitoring").Status.Resources).To(HaveLen(1))
	e.Expect(e.inSeed("here")).NotTo(BeNil())

	e.Expect(e.seed.Create(e.ctx, crd.DeepCopy())).To(Succeed())
	e.Eventually(e.message("monitoring", "ResourcesApplied")).Should(Equal("All resources are applied."))
	e.becomesGood("monitoring")
	e.Expect(e.seed.Get(e.ctx, client.ObjectKeyFromObject(widget), widget.DeepCopy())).To(Succeed())

	e.Expect(e.seed.Delete(e.ctx, crd.DeepCopy())).To(Succeed())
	e.Eventually(e.message("monitoring", "ResourcesApplied")).Should(Equal(leftOut))
	e.becomesGood("monitoring")
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.isGone(mr)
}

// In a shoot the operator leaves out only objects with the annotation.
func TestMarkedObjectsAreLeftOutOfTheShoot(t *testing.T) {
	e := newEnv(t)
	crd, widget := e.widgets("optional")
	widget.SetAnnotations(map[string]string{resourcesv1alpha1.OptionalKind: "true"})
	mr := e.state("network", e.configMap("one"), widget)
	e.operator(func(o *Options) { o.SyncPeriod = time.Second })
	e.becomesGood("network")
	e.Expect(e.message("network", "ResourcesApplied")()).To(HaveSuffix("(Widget.optional.example.com): Widget default/w."))
	e.Expect(e.shoot.Create(e.ctx, crd)).To(Succeed())
	e.Eventually(e.exists(widget)).Should(BeTrue())
	e.becomesGood("network")
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.isGone(mr)
	e.Expect(e.shoot.Delete(e.ctx, crd)).To(Succeed())
}

// If a ManagedResource changes from the shoot's class to the seed's, the operator deletes its
// objects in the shoot and creates them in the seed.
func TestAChangedClassMovesTheObjects(t *testing.T) {
	e := newEnv(t)
	one := e.configMap("one")
	e.state("network", one)
	e.operator()
	e.becomesGood("network")
	e.edit("network", func(mr *resourcesv1alpha1.ManagedResource) { mr.Spec.Class = ptr.To("seed") })
	e.Eventually(func() any { return e.inSeed("one") }).ShouldNot(BeNil())
	e.Expect(e.exists(one)()).To(BeFalse())
	e.becomesGood("network")
}
