// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"fmt"
	"slices"
	"sync"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
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
	"github.com/trellis-network/trellis/plugin"
)

// life is a sequence of scenarios of one control plane. Each scenario begins where the previous
// one ended, so that it needs no preparation of its own.
type life struct {
	name    string
	trigger network.Trigger
	// ofShoot means that the life is that of a Shoot, for which the operator makes the control
	// plane.
	ofShoot   bool
	scenarios []*scenario
	// kinds are the kinds in the shoot that snapshots have.
	kinds []schema.GroupVersionKind
	// rollsOut means that the agents run, on one node. Otherwise, no node runs them.
	rollsOut bool
	// plugins are those of the networks; that of type example if there are none. alone means that two runs of the life
	// would have an object in common, so that they must not be at the same time.
	plugins []plugin.Plugin
	alone   *sync.Mutex

	once    sync.Once
	goldens []golden
}

// scenario is one change in a life.
type scenario struct {
	name string
	// before prepares the scenario, and act does what users and the gardenlet do. A process runs
	// during both, and is disturbed from act on.
	before, act func(w *world)
	// finish waits until an undisturbed run has ended, and check checks the result.
	finish, check func(w *world)
	// goes are the objects, without the run's name, that the scenario deletes in the shoot.
	// everythingGoes means that it deletes all of them.
	goes           []string
	everythingGoes bool
	// forced means that the deletion of the Network does not wait for its objects, and
	// withoutNetwork that the scenario has no Network.
	forced, withoutNetwork bool
	// onTheWay means that the scenario only prepares the next ones.
	onTheWay bool
	// elsewhere means that another life has a similar scenario. Only -robustness.all kills it
	// at each write. rare means that only -robustness.all runs the scenario.
	elsewhere, rare bool
}

// course returns the scenarios of a life that this run includes.
func (l *life) course() []*scenario {
	return slices.DeleteFunc(slices.Clone(l.scenarios), func(s *scenario) bool { return s.rare && !*all })
}

// golden is the end of an undisturbed scenario.
type golden struct {
	end    snapshot
	writes int
}

const (
	red       = `{"color":"red","extra":true,"later":"one","seed":"one"}`
	blue      = `{"color":"blue","extra":true,"later":"two","seed":"two"}`
	less      = `{"color":"red"}`
	redSteps  = `{"color":"red","inSteps":true}`
	blueSteps = `{"color":"blue","inSteps":true}`
	byEdit    = network.TriggerGeneration
	byAsking  = network.TriggerOperation
	reconcile = extensionsv1alpha1.OperationReconcile
	migrate   = extensionsv1alpha1.OperationMigrate
	restore   = extensionsv1alpha1.OperationRestore
)

func done(operation string) func(w *world) {
	return func(w *world) {
		w.reports(operation, "Succeeded")
		w.awaitHealth()
	}
}

func gone(w *world) {
	w.Eventually(func() bool { return w.read() == nil }).Should(BeTrue())
	w.Eventually(func() bool { return w.managed(mainBundle) == nil }).Should(BeTrue())
}

func moved(w *world) {
	w.reports("Migrate", "Succeeded")
	w.Eventually(func() []string {
		return append(w.read().Finalizers, w.read().Annotations[extensionsv1alpha1.OperationAnnotation])
	}).
		Should(Equal([]string{""}))
}

// The scenarios, in seven lives: two of a Gardener landscape, where annotations request
// operations, and five without Gardener.
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
	withInfrastructure,
	changesType,
	{name: "in steps", trigger: byEdit, kinds: shootKinds, rollsOut: true, scenarios: []*scenario{
		{name: "create", act: func(w *world) { w.create(redSteps) }, finish: done("Create"), onTheWay: true},
		{name: "change in steps", act: func(w *world) { w.edit(blueSteps, "") }, finish: arrived("blue")},
		{name: "turn back between steps", before: betweenSteps(redSteps), act: func(w *world) { w.edit(blueSteps, ""); w.keepsNodes.Store(false) }, finish: arrived("blue")},
		{name: "delete between steps", before: betweenSteps(redSteps), act: (*world).delete, finish: gone, everythingGoes: true, rare: true},
	}},
}

// arrived waits until a network that changes in steps has the color of its spec.
func arrived(color string) func(w *world) {
	return func(w *world) {
		done("Reconcile")(w)
		w.Eventually(func() string {
			agents := there(w, "agent", &appsv1.DaemonSet{})
			return fmt.Sprint(colorOf(&agents.Spec.Template), w.isOnTheWay())
		}).Should(Equal(fmt.Sprint(color, false)))
	}
}

// betweenSteps edits the Network, and returns when it is at the first step, which its node does not get yet.
func betweenSteps(config string) func(w *world) {
	return func(w *world) {
		w.keepsNodes.Store(true)
		w.edit(config, "")
		w.Eventually(func() string { return colorOf(&there(w, "agent", &appsv1.DaemonSet{}).Spec.Template) }).Should(Equal("purple"))
	}
}

// byForce is the life of a network whose shoot is force-deleted.
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

// replaced waits until the Secrets exist again.
func replaced(w *world) {
	w.Eventually(func() []string { referred, _ := w.bundleSecrets(); return referred }).Should(ContainElements(w.lostSecrets))
	done("Reconcile")(w)
}

// renewed waits until there is a new ManagedResource.
func renewed(w *world) {
	w.Eventually(func() bool { mr := w.managed(mainBundle); return mr != nil && mr.UID != w.lost }).Should(BeTrue())
	done("Reconcile")(w)
}

func restored(w *world) {
	done("Restore")(w)
	w.Eventually(func() map[string]string { return w.read().Annotations }).Should(BeEmpty())
}

// abandoned waits until the Network is deleted. Of its objects only the one that is held still
// exists, for a resource manager to delete later.
func abandoned(w *world) {
	w.Eventually(func() bool { return w.read() == nil }).Should(BeTrue())
	w.Eventually(func() bool {
		mr := w.managed(mainBundle)
		return mr != nil && len(mr.Status.Resources) == 1 && w.managed(mainBundle+"-later") == nil && w.managed(mainBundle+"-seed") == nil
	}).Should(BeTrue())
}

// conditionTypeLabel names the condition into which Gardener aggregates the health of a
// ManagedResource.
const conditionTypeLabel = "care.gardener.cloud/condition-type"

// labelled adds a label of another client to a ManagedResource. Trellis must not remove it.
func labelled(w *world) {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+conditionTypeLabel+`":"theirs"}}}`))
	w.Expect(w.api.client.Patch(w.ctx, w.managed(mainBundle), patch)).To(Succeed())
}

func stillLabelled(w *world) {
	w.Expect(w.managed(mainBundle).Labels).To(HaveKeyWithValue(conditionTypeLabel, "theirs"))
}

// bundleSecrets returns the names of the Secrets of a run's bundles: those that a
// ManagedResource refers to, and the superseded ones.
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

// loseSecrets deletes the Secrets that the ManagedResources of a run refer to.
func (w *world) loseSecrets() {
	w.lostSecrets, _ = w.bundleSecrets()
	for _, name := range w.lostSecrets {
		secret := &corev1.Secret{ObjectMeta: meta(w.namespace(), name)}
		w.Expect(client.IgnoreNotFound(w.api.client.Delete(w.ctx, secret))).To(Succeed())
	}
}

// loseManaged deletes the main ManagedResource, and with it all its objects.
func (w *world) loseManaged() {
	mr := w.managed(mainBundle)
	w.lost = mr.UID
	w.Expect(w.api.client.Delete(w.ctx, mr)).To(Succeed())
}

// hold adds a finalizer to a ConfigMap in the shoot.
func (w *world) hold(name string) {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.org/hold"]}}`))
	w.Expect(w.api.client.Patch(w.ctx, &corev1.ConfigMap{ObjectMeta: meta(system, w.run+"-"+name)}, patch)).To(Succeed())
}

// force annotates the Shoot for force-deletion.
func (w *world) force() {
	w.cluster(func(s *corev1beta1.Shoot) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, extensionsv1alpha1.ForceDeletionAnnotation, "true")
	})
}

// immigrate replaces the migrated Network by one as the gardenlet creates it on the new seed of
// a control plane. Its objects are already in the shoot.
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
