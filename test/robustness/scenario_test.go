// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"slices"
	"sync"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/network"
)

// life is what befalls a control plane, one scenario after the other. Each begins
// where the one before it ended, which spares runs the way there.
type life struct {
	name      string
	trigger   network.Trigger
	scenarios []*scenario
	// kinds in the shoot that are looked at.
	kinds []schema.GroupVersionKind

	once    sync.Once
	goldens []golden
}

// scenario is one change in a life, from beginning to end.
type scenario struct {
	name string
	// before brings the world to where the scenario begins, act is what users and
	// gardenlet do. A process runs during both, and is disturbed from act on.
	before, act func(w *world)
	// finish waits until an undisturbed run has come to its end, and check says
	// whether that is the right one.
	finish, check func(w *world)
	// goes are the objects, without the run's name, that have to leave the shoot;
	// everythingGoes means that all have to.
	goes           []string
	everythingGoes bool
	// forced means that the Network waits for nothing, and withoutNetwork that there
	// is none.
	forced, withoutNetwork bool
	// onTheWay means that the scenario is only there for those after it.
	onTheWay bool
	// elsewhere means that another life has much the same, so that killing it at each
	// write is left to -robustness.all, and rare that all of it is.
	elsewhere, rare bool
}

// course are the scenarios of a life that are run.
func (l *life) course() []*scenario {
	return slices.DeleteFunc(slices.Clone(l.scenarios), func(s *scenario) bool { return s.rare && !*all })
}

// golden is how a scenario ends if it is not disturbed.
type golden struct {
	end    snapshot
	writes int
}

const (
	red       = `{"color":"red","extra":true,"later":"one","seed":"one"}`
	blue      = `{"color":"blue","extra":true,"later":"two","seed":"two"}`
	less      = `{"color":"red"}`
	byEdit    = network.TriggerGeneration
	byAsking  = network.TriggerOperation
	reconcile = extensionsv1alpha1.OperationReconcile
	migrate   = extensionsv1alpha1.OperationMigrate
	restore   = extensionsv1alpha1.OperationRestore
)

func done(operation string) func(w *world) {
	return func(w *world) {
		w.says(operation, "Succeeded")
		w.settled()
	}
}

func gone(w *world) {
	w.Eventually(func() bool { return w.read() == nil }).Should(BeTrue())
	w.Eventually(func() bool { return w.managed(mainBundle) == nil }).Should(BeTrue())
}

func moved(w *world) {
	w.says("Migrate", "Succeeded")
	w.Eventually(func() []string {
		return append(w.read().Finalizers, w.read().Annotations[extensionsv1alpha1.OperationAnnotation])
	}).
		Should(Equal([]string{""}))
}

// The golden scenarios, in four lives: two of a landscape, where operations are asked
// for, and two without Gardener.
var lives = []*life{
	{name: "by edit", trigger: byEdit, kinds: shootKinds, scenarios: []*scenario{
		{name: "create", act: func(w *world) { w.create(red) }, finish: done("Create")},
		{name: "change", before: labelled, act: func(w *world) { w.edit(blue, "") }, finish: done("Reconcile"), check: stillLabelled},
		{name: "change back", act: func(w *world) { w.edit(red, "") }, finish: done("Reconcile"), rare: true},
		{name: "lose a Secret", act: (*world).loseSecrets, finish: replaced},
		{name: "prune", act: func(w *world) { w.edit(less, "") }, finish: pruned, goes: []string{"extra", "later"}},
		{name: "delete", act: (*world).delete, finish: gone, everythingGoes: true, elsewhere: true},
	}},
	{name: "by annotation", trigger: byAsking, kinds: shootKinds, scenarios: []*scenario{
		{name: "create", act: func(w *world) { w.create(red) }, finish: done("Create"), elsewhere: true},
		{name: "prune", act: func(w *world) { w.edit(less, reconcile) }, finish: pruned, goes: []string{"extra", "later"}, elsewhere: true},
		{name: "change", act: func(w *world) { w.edit(blue, reconcile) }, finish: done("Reconcile")},
		{name: "lose a Secret", act: (*world).loseSecrets, finish: replaced},
		{name: "lose a ManagedResource", act: (*world).loseManaged, finish: renewed, everythingGoes: true},
		{name: "migrate", act: func(w *world) { w.edit("", migrate) }, finish: moved},
		{name: "restore", before: immigrate, act: func(w *world) { w.edit("", restore) }, finish: restored},
		{name: "delete", act: (*world).delete, finish: gone, everythingGoes: true},
	}},
	byForce("by force", byEdit, false),
	byForce("by force and annotation", byAsking, true),
}

// byForce is the life of a network whose shoot is deleted without waiting for it.
func byForce(name string, trigger network.Trigger, elsewhere bool) *life {
	return &life{name: name, trigger: trigger, kinds: shootKinds, scenarios: []*scenario{
		{name: "create", act: func(w *world) { w.create(red) }, finish: done("Create"), onTheWay: true},
		{
			name: "force-delete", everythingGoes: true, forced: true, elsewhere: elsewhere,
			before: func(w *world) { w.hold("settings"); w.force() },
			act:    (*world).delete, finish: abandoned,
		},
	}}
}

func pruned(w *world) {
	done("Reconcile")(w)
	for _, name := range []string{"-later", "-seed"} {
		w.Eventually(func() bool { return w.managed(mainBundle+name) == nil }).Should(BeTrue())
	}
}

// replaced: the Secrets are there again.
func replaced(w *world) {
	w.Eventually(func() []string { referred, _ := w.bundleSecrets(); return referred }).Should(ContainElements(w.lostSecrets))
	done("Reconcile")(w)
}

// renewed: there is another ManagedResource.
func renewed(w *world) {
	w.Eventually(func() bool { mr := w.managed(mainBundle); return mr != nil && mr.UID != w.lost }).Should(BeTrue())
	done("Reconcile")(w)
}

func restored(w *world) {
	done("Restore")(w)
	w.Eventually(func() map[string]string { return w.read().Annotations }).Should(BeEmpty())
}

// abandoned: the Network is gone, and of its objects only that which is held is
// left, for a resource manager to go on with.
func abandoned(w *world) {
	w.Eventually(func() bool { return w.read() == nil }).Should(BeTrue())
	w.Eventually(func() bool {
		mr := w.managed(mainBundle)
		return mr != nil && len(mr.Status.Resources) == 1 && w.managed(mainBundle+"-later") == nil && w.managed(mainBundle+"-seed") == nil
	}).Should(BeTrue())
}

// conditionTypeLabel states into which condition Gardener aggregates the health of a
// ManagedResource.
const conditionTypeLabel = "care.gardener.cloud/condition-type"

// labelled puts a label of another client on a ManagedResource, which stays.
func labelled(w *world) {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+conditionTypeLabel+`":"theirs"}}}`))
	w.Expect(w.api.client.Patch(w.ctx, w.managed(mainBundle), patch)).To(Succeed())
}

func stillLabelled(w *world) {
	w.Expect(w.managed(mainBundle).Labels).To(HaveKeyWithValue(conditionTypeLabel, "theirs"))
}

// bundleSecrets returns the names of the Secrets of all bundles of a run, by whether a
// ManagedResource refers to them.
func (w *world) bundleSecrets() (referred, superseded []string) {
	managed, secrets := &resourcesv1alpha1.ManagedResourceList{}, &corev1.SecretList{}
	w.Expect(w.api.client.List(w.ctx, managed, client.InNamespace(w.namespace()))).To(Succeed())
	w.Expect(w.api.client.List(w.ctx, secrets, client.InNamespace(w.namespace()), client.HasLabels{resourcesv1alpha1.GarbageCollectable})).To(Succeed())
	for i := range secrets.Items {
		name := secrets.Items[i].Name
		if slices.ContainsFunc(managed.Items, func(mr resourcesv1alpha1.ManagedResource) bool {
			return slices.Contains(mr.Spec.SecretRefs, corev1.LocalObjectReference{Name: name})
		}) {
			referred = append(referred, name)
		} else {
			superseded = append(superseded, name)
		}
	}
	return referred, superseded
}

// loseSecrets deletes the Secrets that the bundles of a run need.
func (w *world) loseSecrets() {
	w.lostSecrets, _ = w.bundleSecrets()
	for _, name := range w.lostSecrets {
		secret := &corev1.Secret{ObjectMeta: meta(w.namespace(), name)}
		w.Expect(client.IgnoreNotFound(w.api.client.Delete(w.ctx, secret))).To(Succeed())
	}
}

// loseManaged deletes the main ManagedResource, and with it all that it has brought.
func (w *world) loseManaged() {
	mr := w.managed(mainBundle)
	w.lost = mr.UID
	w.Expect(w.api.client.Delete(w.ctx, mr)).To(Succeed())
}

// hold keeps a ConfigMap in the shoot from going when it is deleted.
func (w *world) hold(name string) {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.org/hold"]}}`))
	w.Expect(w.api.client.Patch(w.ctx, &corev1.ConfigMap{ObjectMeta: meta(system, w.run+"-"+name)}, patch)).To(Succeed())
}

// force has the shoot deleted without waiting for anything in it.
func (w *world) force() {
	w.cluster(func(s *corev1beta1.Shoot) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, extensionsv1alpha1.ForceDeletionAnnotation, "true")
	})
}

// immigrate leaves a Network that was migrated as a gardenlet makes it on the seed
// that a control plane moves to, with its objects in the shoot already.
func immigrate(w *world) {
	state := w.read().Status.State.DeepCopy()
	w.delete()
	gone(w)
	n := w.network(blue, extensionsv1alpha1.OperationWaitForState)
	w.Expect(w.api.client.Create(w.ctx, n)).To(Succeed())
	before := n.DeepCopy()
	n.Status.State = &runtime.RawExtension{Raw: state.Raw}
	w.Expect(w.api.client.Status().Patch(w.ctx, n, client.MergeFrom(before))).To(Succeed())
}
