// SPDX-License-Identifier: Apache-2.0

package garbagecollector

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// controlPlane makes the namespace one that is looked after.
func (e *env) controlPlane() *resourcesv1alpha1.ManagedResource {
	mr := &resourcesv1alpha1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "network"},
		Spec:       resourcesv1alpha1.ManagedResourceSpec{SecretRefs: []corev1.LocalObjectReference{}},
	}
	e.Expect(e.seed.Create(e.ctx, mr)).To(Succeed())
	return mr
}

// age lets time pass by: from now on, each pass is ten minutes after the one before.
func (e *env) age() { e.clock.hurries.Store(true) }

// hurrying is a clock that, once it hurries, has gone on whenever somebody looks at it.
type hurrying struct {
	*testclock.FakePassiveClock
	hurries atomic.Bool
}

// Now implements clock.PassiveClock.
func (h *hurrying) Now() time.Time {
	if h.hurries.Load() {
		h.SetTime(h.FakePassiveClock.Now().Add(10 * time.Minute))
	}
	return h.FakePassiveClock.Now()
}

// R25: what is marked, old and not referred to is deleted, in the seed and in the
// shoot; all else stays.
func TestOnlyOldUnreferencedObjectsAreDeleted(t *testing.T) {
	for _, cluster := range []string{"seed", "shoot"} {
		t.Run(cluster, func(t *testing.T) {
			e := newEnv(t)
			c := map[string]client.Client{"seed": e.seed, "shoot": e.shoot}[cluster]
			e.controlPlane()
			for _, object := range []client.Object{
				&corev1.Secret{ObjectMeta: e.meta("garbage")},
				&corev1.ConfigMap{ObjectMeta: e.meta("garbage")},
				&corev1.Secret{ObjectMeta: e.meta("used")},
				&corev1.ConfigMap{ObjectMeta: e.meta("used")},
				&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "unmarked"}},
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "unmarked"}},
			} {
				e.Expect(c.Create(e.ctx, object)).To(Succeed())
			}
			e.Expect(c.Create(e.ctx, deployment(e.reference(resourcesv1alpha1.ReferenceSecret, "used", resourcesv1alpha1.ReferenceConfigMap, "used")))).To(Succeed())
			all := e.remaining(c)()
			e.operator(t)
			e.afterPasses(cluster)
			e.Expect(e.remaining(c)()).To(Equal(all), "they are too young")

			e.age()
			e.Eventually(e.remaining(c)).Should(ConsistOf("Secret used", "Secret unmarked", "ConfigMap used", "ConfigMap unmarked"))
			e.afterPasses(cluster)
			e.Expect(e.remaining(c)()).To(HaveLen(4))
		})
	}
}

// reference is the metadata of an object that refers to others, by kinds and names.
func (e *env) reference(kindsAndNames ...string) metav1.ObjectMeta {
	annotations := map[string]string{}
	for i := 0; i < len(kindsAndNames); i += 2 {
		annotations[kindsAndNames[i]+"12345678"] = kindsAndNames[i+1]
	}
	return metav1.ObjectMeta{Namespace: e.namespace, Name: "user", Annotations: annotations}
}

var (
	selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "user"}}
	template = corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: selector.MatchLabels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.example/c:1"}}, NodeSelector: map[string]string{"no": "node"}},
	}
	once = corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: template.Spec.Containers, NodeSelector: template.Spec.NodeSelector}}
)

func deployment(meta metav1.ObjectMeta) client.Object {
	return &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: selector, Template: template}}
}

// Each kind that may refer to an object protects it; once it is gone, the object
// goes.
func TestAllKindsThatRefer(t *testing.T) {
	referrers := map[string]func(metav1.ObjectMeta) client.Object{
		"Deployment": deployment,
		"StatefulSet": func(m metav1.ObjectMeta) client.Object {
			return &appsv1.StatefulSet{ObjectMeta: m, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template}}
		},
		"DaemonSet": func(m metav1.ObjectMeta) client.Object {
			return &appsv1.DaemonSet{ObjectMeta: m, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}}
		},
		"Job": func(m metav1.ObjectMeta) client.Object {
			return &batchv1.Job{ObjectMeta: m, Spec: batchv1.JobSpec{Template: once}}
		},
		"CronJob": func(m metav1.ObjectMeta) client.Object {
			return &batchv1.CronJob{ObjectMeta: m, Spec: batchv1.CronJobSpec{
				Schedule: "0 0 1 1 *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: once}}}}
		},
		"Pod": func(m metav1.ObjectMeta) client.Object { return &corev1.Pod{ObjectMeta: m, Spec: template.Spec} },
	}
	e := newEnv(t)
	e.controlPlane()
	var protected []string
	var all []client.Object
	for kind, referrer := range referrers {
		name := "of-" + toLower(kind)
		e.Expect(e.shoot.Create(e.ctx, &corev1.Secret{ObjectMeta: e.meta(name)})).To(Succeed())
		meta := e.reference(resourcesv1alpha1.ReferenceSecret, name)
		meta.Name = name
		object := referrer(meta)
		e.Expect(e.shoot.Create(e.ctx, object)).To(Succeed())
		protected, all = append(protected, "Secret "+name), append(all, object)
	}
	e.Expect(e.shoot.Create(e.ctx, &corev1.Secret{ObjectMeta: e.meta("garbage")})).To(Succeed())
	e.operator(t)
	e.age()
	e.Eventually(e.remaining(e.shoot)).Should(ConsistOf(protected))
	for _, each := range all {
		e.Expect(e.shoot.Delete(e.ctx, each, client.PropagationPolicy(metav1.DeletePropagationBackground), client.GracePeriodSeconds(0))).To(Succeed())
	}
	e.Eventually(e.remaining(e.shoot)).Should(BeEmpty())
}

func toLower(kind string) string {
	lower := []byte(kind)
	for i := range lower {
		lower[i] |= 0x20
	}
	return string(lower)
}

// In the seed a ManagedResource protects the Secrets that it consists of, with the
// annotation or without, and the Cluster its generic kubeconfig; whatever else
// deletes them meanwhile is no trouble.
func TestWhatTheSeedItselfRefersTo(t *testing.T) {
	e := newEnv(t)
	mr := e.controlPlane()
	patch := client.MergeFrom(mr.DeepCopy())
	mr.Spec.SecretRefs = []corev1.LocalObjectReference{{Name: "stated"}}
	mr.Annotations = map[string]string{resourcesv1alpha1.ReferenceSecret + "12345678": "annotated"}
	e.Expect(e.seed.Patch(e.ctx, mr, patch)).To(Succeed())
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{
		Name: e.namespace, Annotations: map[string]string{resourcesv1alpha1.GenericKubeconfigName: "generic"}}}
	cluster.Spec.CloudProfile, cluster.Spec.Shoot = emptyObject(), emptyObject()
	e.Expect(e.seed.Create(e.ctx, cluster)).To(Succeed())
	for _, name := range []string{"stated", "annotated", "generic", "garbage"} {
		e.Expect(e.seed.Create(e.ctx, &corev1.Secret{ObjectMeta: e.meta(name)})).To(Succeed())
	}
	e.operator(t)
	e.age()
	e.Eventually(e.remaining(e.seed)).Should(ConsistOf("Secret stated", "Secret annotated", "Secret generic"))
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.Eventually(e.remaining(e.seed)).Should(ConsistOf("Secret generic"))
	e.Expect(e.seed.Delete(e.ctx, cluster)).To(Succeed())
}

func emptyObject() runtime.RawExtension {
	return runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"X"}`)}
}

// A namespace of the seed that is no control plane is somebody else's.
func TestOtherNamespacesOfTheSeedAreLeftAlone(t *testing.T) {
	e, other := newEnv(t), newEnv(t)
	e.controlPlane()
	for _, each := range []*env{e, other} {
		e.Expect(e.seed.Create(e.ctx, &corev1.Secret{ObjectMeta: each.meta("garbage")})).To(Succeed())
	}
	e.operator(t)
	e.age()
	e.Eventually(e.remaining(e.seed)).Should(BeEmpty())
	e.afterPasses("seed")
	e.Expect(other.remaining(e.seed)()).To(HaveLen(1))
}

// Who cannot see all references deletes nothing.
func TestNothingIsDeletedOnHalfTheTruth(t *testing.T) {
	e := newEnv(t)
	e.controlPlane()
	e.Expect(e.shoot.Create(e.ctx, &corev1.Secret{ObjectMeta: e.meta("garbage")})).To(Succeed())
	e.fail("/apis/batch/v1/namespaces/" + e.namespace + "/cronjobs")
	e.operator(t)
	e.age()
	e.afterPasses("shoot")
	e.Expect(e.remaining(e.shoot)()).To(HaveLen(1))
	e.fail("")
	e.Eventually(e.remaining(e.shoot)).Should(BeEmpty())
}

// single makes passes over the shoot's namespace, one at a time, and says when the next
// one is due.
func (e *env) single() func() time.Duration {
	r := &Reconciler{client: e.seed, target: func(context.Context, string) (*target, error) {
		return &target{Client: e.shoot, live: e.shoot, scope: e.namespace}, nil
	}}
	r.options.Clock, r.options.Period = e.clock, 12*time.Hour
	r.options.setDefaults()
	return func() time.Duration {
		result, err := r.Reconcile(e.ctx, reconcile.Request{NamespacedName: types.NamespacedName{Name: e.namespace}})
		e.Expect(err).NotTo(HaveOccurred())
		return result.RequeueAfter
	}
}

func (e *env) later(by time.Duration) { e.clock.SetTime(e.clock.Now().Add(by)) }

// What has not been garbage for long enough is looked at again when it has, and not a
// period later.
func TestTheNextPassIsDueWithTheYoungest(t *testing.T) {
	e := newEnv(t)
	e.controlPlane()
	pass := e.single()
	e.Expect(pass()).To(BeNumerically(">=", 12*time.Hour))
	e.Expect(e.shoot.Create(e.ctx, &corev1.Secret{ObjectMeta: e.meta("older")})).To(Succeed())
	e.Expect(pass()).To(Equal(10 * time.Minute))
	e.later(4 * time.Minute)
	e.Expect(e.shoot.Create(e.ctx, &corev1.Secret{ObjectMeta: e.meta("younger")})).To(Succeed())
	e.Expect(pass()).To(Equal(6 * time.Minute))
	e.later(6 * time.Minute)
	e.Expect(pass()).To(Equal(4 * time.Minute))
	e.Expect(e.remaining(e.shoot)()).To(ConsistOf("Secret younger"))
	e.later(4 * time.Minute)
	e.Expect(pass()).To(BeNumerically(">=", 12*time.Hour))
	e.Expect(e.remaining(e.shoot)()).To(BeEmpty())
}

// However old an object is, its time begins when nothing refers to it any more: it may
// be about to be referred to again, as when a former content comes back.
func TestTimeBeginsAnewWithEachReference(t *testing.T) {
	e := newEnv(t)
	e.controlPlane()
	e.Expect(e.shoot.Create(e.ctx, &corev1.Secret{ObjectMeta: e.meta("content")})).To(Succeed())
	pass := e.single()
	for range 3 {
		pass()
		e.later(9 * time.Minute)
		user := deployment(e.reference(resourcesv1alpha1.ReferenceSecret, "content"))
		e.Expect(e.shoot.Create(e.ctx, user)).To(Succeed())
		pass()
		e.later(time.Hour)
		e.Expect(e.shoot.Delete(e.ctx, user)).To(Succeed())
	}
	pass()
	e.Expect(e.remaining(e.shoot)()).To(ConsistOf("Secret content"))
	e.later(10 * time.Minute)
	pass()
	e.Expect(e.remaining(e.shoot)()).To(BeEmpty())
}
