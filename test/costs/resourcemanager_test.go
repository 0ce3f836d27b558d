// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/sandbox"
)

var (
	forResourceManager = harness.Own(sandbox.Options{Shoots: []string{"garden-dev/one"}, Nodes: 1})

	applyRounds = flag.Int("costs.rounds", 7, "how often it is measured what objects in a shoot cost")
)

// reconciled is the metric of how many ManagedResources the operator has reconciled.
const reconciled = `trellis_reconciliation_duration_seconds_count{controller="managedresource",outcome="done",type=""}`

// settled is how long clusters get for what follows from what was measured.
const settled = 5 * time.Second

// calico returns the objects of a network with Calico, as a bundle's Secret has them, and each by
// itself, in the order in which they can be applied.
func calico(tb testing.TB) (content []byte, objects []*unstructured.Unstructured) {
	tb.Helper()
	g, shoot, p := NewWithT(tb), exampleShoot(tb), built(tb)
	network, err := pipeline.NetworkForShoot(shoot)
	g.Expect(err).NotTo(HaveOccurred())
	result := p.Build(p.NewRequest(network, shoot, plugin.Environment{}))
	g.Expect(result.Errors).To(BeEmpty())
	content, err = pipeline.AppendDocuments(nil, result.Objects.For(plugin.Shoot))
	g.Expect(err).NotTo(HaveOccurred())
	objects, problems := bundle.Decode("bundle", map[string][]byte{"objects.json": content})
	g.Expect(problems).To(BeEmpty())
	return content, objects
}

// tenants are control planes in the seed whose ManagedResource has Calico's objects for their shoot.
type tenants struct {
	*WithT
	tb          testing.TB
	seed, shoot *harness.Cluster
	content     []byte
}

// add creates a control plane, with access to its shoot and without objects for it.
func (t *tenants) add(namespace string, kubeconfig []byte) {
	t.tb.Helper()
	t.Expect(t.seed.Create(t.tb.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	t.seed.PutShoot(t.tb, namespace, &corev1beta1.Shoot{})
	t.seed.PutAccess(t.tb, namespace, kubeconfig)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "calico"}, Data: map[string][]byte{"objects.json": t.content}}
	t.Expect(t.seed.Create(t.tb.Context(), secret)).To(Succeed())
}

func managedResource(namespace string) *resourcesv1alpha1.ManagedResource {
	return &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "calico"}}
}

// begin states the objects.
func (t *tenants) begin(namespace string) {
	t.tb.Helper()
	mr := managedResource(namespace)
	mr.Spec.SecretRefs = []corev1.LocalObjectReference{{Name: "calico"}}
	t.Expect(t.seed.Create(t.tb.Context(), mr)).To(Succeed())
}

// apply states the objects, and waits until they are applied.
func (t *tenants) apply(namespace string) {
	t.tb.Helper()
	t.begin(namespace)
	t.awaitApplied(namespace)
}

func (t *tenants) awaitApplied(namespace string) {
	t.tb.Helper()
	mr := managedResource(namespace)
	t.Eventually(func() string {
		t.seed.Read(t.tb, mr)
		if mr.Annotations["gardener.cloud/operation"] != "" {
			return "requested"
		}
		applied := condition.Value(mr.Status.Conditions, resourcesv1alpha1.ResourcesApplied)
		return string(applied.Status) + " " + applied.Message
	}).WithPolling(10 * time.Millisecond).Should(HavePrefix("True"))
}

// ask asks for a reconciliation, and waits until it is done: the operator has told so in its metrics.
func (t *tenants) ask(namespace string, o *operator) {
	t.tb.Helper()
	before, err := o.counters()
	t.Expect(err).NotTo(HaveOccurred())
	mr := managedResource(namespace)
	harness.Change(t.tb, t.seed, mr, func(mr *resourcesv1alpha1.ManagedResource) {
		mr.Annotations = map[string]string{"gardener.cloud/operation": "reconcile"}
	})
	t.awaitApplied(namespace)
	t.Eventually(func() float64 { after, _ := o.counters(); return after[reconciled] }).WithPolling(10 * time.Millisecond).Should(BeNumerically(">", before[reconciled]))
}

// remove deletes the objects, and waits until they are gone.
func (t *tenants) remove(namespace string) {
	t.tb.Helper()
	mr := managedResource(namespace)
	t.Expect(t.seed.Delete(t.tb.Context(), mr)).To(Succeed())
	t.awaitGone(namespace)
}

func (t *tenants) awaitGone(namespace string) {
	t.tb.Helper()
	mr := managedResource(namespace)
	t.Eventually(func() bool {
		return apierrors.IsNotFound(t.seed.Get(t.tb.Context(), crclient.ObjectKeyFromObject(mr), mr))
	}).WithPolling(10 * time.Millisecond).Should(BeTrue())
}

// byKind divides objects into lists of the same kind, CustomResourceDefinitions before all others.
func byKind(objects []*unstructured.Unstructured) (kinds [][]*unstructured.Unstructured) {
	objects = slices.Clone(objects)
	first := func(o *unstructured.Unstructured) string {
		if o.GetKind() == "CustomResourceDefinition" {
			return ""
		}
		return o.GetKind()
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return bytes.Compare([]byte(first(a)), []byte(first(b))) })
	for i, object := range objects {
		if i == 0 || objects[i-1].GetKind() != object.GetKind() {
			kinds = append(kinds, nil)
		}
		kinds[len(kinds)-1] = append(kinds[len(kinds)-1], object)
	}
	return kinds
}

// rawly applies or deletes the objects with a raw client, those of a kind at once.
func (t *tenants) rawly(kinds [][]*unstructured.Unstructured, do func(context.Context, *unstructured.Unstructured) error) error {
	for _, objects := range kinds {
		if err := eachAtOnce(objects, func(object *unstructured.Unstructured) error { return do(t.tb.Context(), object.DeepCopy()) }); err != nil {
			return err
		}
	}
	return nil
}

// reversed returns the kinds in the order in which they can be deleted.
func reversed(kinds [][]*unstructured.Unstructured) [][]*unstructured.Unstructured {
	kinds = slices.Clone(kinds)
	slices.Reverse(kinds)
	return kinds
}

// eachAtOnce calls f for all at once, and returns their errors.
func eachAtOnce[T any](all []T, f func(T) error) error {
	failures := make(chan error, len(all))
	for _, each := range all {
		go func() { failures <- f(each) }()
	}
	var errs []error
	for range all {
		errs = append(errs, <-failures)
	}
	return errors.Join(errs...)
}

func (t *tenants) applyRawly(ctx context.Context, object *unstructured.Unstructured) error {
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := t.shoot.Apply(ctx, crclient.ApplyConfigurationFromUnstructured(object.DeepCopy()), crclient.FieldOwner("raw"), crclient.ForceOwnership)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) { // its kind is not served yet
			return false, nil
		}
		return err == nil, err
	})
}

func (t *tenants) deleteRawly(ctx context.Context, object *unstructured.Unstructured) error {
	if err := t.shoot.Delete(ctx, object); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := t.shoot.Get(ctx, crclient.ObjectKeyFromObject(object), object)
		return apierrors.IsNotFound(err) || meta.IsNoMatchError(err), crclient.IgnoreNotFound(err)
	})
}

// BenchmarkResourceManager prints what it costs to have Calico's objects in a shoot.
func BenchmarkResourceManager(b *testing.B) {
	box, seed, shoot := forResourceManager.Shared.Get(b), forResourceManager.Seed(b), forResourceManager.Shoot(b)
	content, objects := calico(b)
	t := &tenants{NewWithT(b), b, seed, shoot, content}
	const namespace = "shoot--costs--one"
	t.add(namespace, shoot.Kubeconfig)
	m := machine{0, processes{apiServer(b, box, box.Shoots[0].Server)}, component(b, box, "etcd", "")}
	kinds := byKind(objects)
	var o *operator
	steps := []struct {
		name, raw string
		do        func()
	}{
		{"first apply, cold", "apply", func() { t.apply(namespace) }},
		{"asked for, unchanged", "", func() { t.ask(namespace, o) }},
		{"idle", "", func() { <-time.After(*idleTime) }},
		{"deletion", "delete", func() { t.remove(namespace) }},
		{"first apply, warm", "apply", func() { t.apply(namespace) }},
		{"deletion, warm", "delete", func() { t.remove(namespace) }},
	}
	taken, sent := make([]rounds, len(steps)), make([]string, len(steps))
	applies := func() { t.Expect(t.rawly(kinds, t.applyRawly)).To(Succeed()) }
	deletes := func() { t.Expect(t.rawly(reversed(kinds), t.deleteRawly)).To(Succeed()) }
	applies() // once before, since the API server is faster afterwards
	deletes()
	rawly := func() map[string]usage {
		return map[string]usage{"apply": m.measure(applies), "delete": m.measure(deletes)}
	}
	for range *applyRounds {
		before := rawly()
		o = start(b, box.Seed.Kubeconfig, "mode: Standalone\n")
		m.operator = o.process
		for i, step := range steps {
			if step.name == "idle" && len(taken[i]) > 0 {
				continue // it takes long, and once tells
			}
			<-time.After(settled) // what came before is not measured: the start, health, and what the cluster does
			earlier, err := o.counters()
			t.Expect(err).NotTo(HaveOccurred())
			taken[i] = append(taken[i], round{operator: m.measure(step.do)})
			later, err := o.counters()
			t.Expect(err).NotTo(HaveOccurred())
			sent[i] = later.requests("shoot").since(earlier.requests("shoot")).per(1)
		}
		o.stop()
		m.operator = 0
		after := rawly()
		for i, step := range steps {
			taken[i][len(taken[i])-1].raw = before[step.raw].plus(after[step.raw]).half()
		}
	}
	result := newTable(fmt.Sprintf("%d objects of Calico in a shoot, medians of %d; times is how many times as much as by the raw client", len(objects), *applyRounds),
		"", "wall", "times", "operator CPU", "API server CPU", "times", "etcd CPU", "requests")
	for i, step := range steps {
		of := taken[i]
		result.row(step.name, seconds(of.median(wall, 1)), of.times(wall), ms(of.median(operatorCPU, 1)), ms(of.median(apiServerCPU, 1)), of.times(apiServerCPU),
			ms(of.median(etcdCPU, 1)), sent[i])
	}
	t.Expect(result.Flush()).To(Succeed())
	b.ReportMetric(0, "ns/op")
}
