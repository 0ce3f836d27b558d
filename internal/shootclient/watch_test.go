// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

var (
	configMaps = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	daemonSets = appsv1.SchemeGroupVersion.WithKind("DaemonSet")
)

func managed(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "default", Name: namespace + "-" + name,
		Labels:      map[string]string{resourcesv1alpha1.ManagedBy: "gardener"},
		Annotations: map[string]string{resourcesv1alpha1.Origin: namespace + "/network"},
	}
}

// Each change of a managed object is told, with what sort of change it is.
func TestEvents(t *testing.T) {
	e := newEnv(t)
	e.grant(e.shoot.Kubeconfig)
	old := &corev1.ConfigMap{ObjectMeta: managed(e.namespace, "old")}
	e.Expect(e.shoot.Create(e.ctx, old)).To(Succeed())
	var mu sync.Mutex
	var told []string
	unsubscribe := e.clients.subscribers.add(func(event Event) {
		mu.Lock()
		defer mu.Unlock()
		if event.Object.Name == e.namespace+"-one" || event.Object.Name == old.Name {
			told = append(told, event.Namespace+" "+event.Kind.Kind+" "+event.Origin+" "+string(event.Change))
		}
	})
	tells := func(kind, origin string, changes ...Change) {
		t.Helper()
		want := make([]string, 0, len(changes))
		for _, each := range changes {
			want = append(want, e.namespace+" "+kind+" "+origin+" "+string(each))
		}
		e.Eventually(func() []string {
			mu.Lock()
			defer mu.Unlock()
			return told
		}).Should(HaveExactElements(want))
		mu.Lock()
		defer mu.Unlock()
		told = nil
	}
	shoot, err := e.clients.For(e.ctx, e.namespace)
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(shoot.Watch(e.ctx, configMaps, daemonSets)).To(Succeed())
	origin := e.namespace + "/network"

	cm := &corev1.ConfigMap{ObjectMeta: managed(e.namespace, "one")}
	e.Expect(e.shoot.Create(e.ctx, cm)).To(Succeed())
	tells("ConfigMap", origin, Created)
	cm.Data = map[string]string{"a": "b"}
	e.Expect(e.shoot.Update(e.ctx, cm)).To(Succeed())
	tells("ConfigMap", origin, Edited)
	delete(cm.Labels, resourcesv1alpha1.ManagedBy)
	e.Expect(e.shoot.Update(e.ctx, cm)).To(Succeed())
	tells("ConfigMap", origin, Deleted)

	ds := &appsv1.DaemonSet{ObjectMeta: managed(e.namespace, "one"), Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"no": "node"}, Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
	}}
	e.Expect(e.shoot.Create(e.ctx, ds)).To(Succeed())
	tells("DaemonSet", origin, Created, StatusChanged)
	unsubscribe()
	e.Expect(e.shoot.Delete(e.ctx, ds)).To(Succeed())
	e.Eventually(func() bool {
		_, err := shoot.Cached(e.ctx, daemonSets, client.ObjectKeyFromObject(ds))
		return apierrors.IsNotFound(err)
	}).Should(BeTrue())
	tells("", "") // no subscriber is left
}

// Unless more is declared, the cache holds metadata of what is managed, and refuses to
// become a copy of the cluster.
func TestReader(t *testing.T) {
	e := newEnv(t)
	e.grant(e.shoot.Kubeconfig)
	cm := &corev1.ConfigMap{ObjectMeta: managed(e.namespace, "one"), Data: map[string]string{"a": "b"}}
	other := &corev1.ConfigMap{ObjectMeta: managed(e.namespace, "other")}
	other.Labels = nil
	e.Expect(e.shoot.Create(e.ctx, cm)).To(Succeed())
	e.Expect(e.shoot.Create(e.ctx, other)).To(Succeed())
	shoot, err := e.clients.For(e.ctx, e.namespace)
	e.Expect(err).NotTo(HaveOccurred())

	found, err := shoot.Cached(e.ctx, configMaps, client.ObjectKeyFromObject(cm))
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(found).To(BeAssignableToTypeOf(&metav1.PartialObjectMetadata{}))
	_, err = shoot.Cached(e.ctx, configMaps, client.ObjectKeyFromObject(other))
	e.Expect(apierrors.IsNotFound(err)).To(BeTrue())
	e.Expect(shoot.Reader.List(e.ctx, &appsv1.DaemonSetList{})).To(Succeed())
	e.Expect(shoot.Reader.Get(e.ctx, client.ObjectKeyFromObject(cm), &corev1.ConfigMap{})).To(
		MatchError("ConfigMap cannot be read from the cache as *v1.ConfigMap"))
	_, err = shoot.Cached(e.ctx, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Nothing"}, client.ObjectKeyFromObject(cm))
	e.Expect(meta.IsNoMatchError(err)).To(BeTrue())
}

// A controller gets of the nodes what it declares, and no Events.
func TestNodesAreCachedWithWhatIsRead(t *testing.T) {
	e := newEnv(t)
	e.grant(e.shoot.Kubeconfig)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: e.namespace, Labels: map[string]string{"zone": "a"}, Annotations: map[string]string{"a": "b"},
	}, Spec: corev1.NodeSpec{PodCIDR: "10.1.0.0/24", PodCIDRs: []string{"10.1.0.0/24"}, ProviderID: "example:///1"}}
	e.Expect(e.shoot.Create(e.ctx, node)).To(Succeed())
	t.Cleanup(func() { e.Expect(e.shoot.Delete(context.Background(), node)).To(Succeed()) })
	e.clients.subscribers.add(func(event Event) { t.Errorf("an event: %v", event) })
	shoot, err := e.clients.For(e.ctx, e.namespace)
	e.Expect(err).NotTo(HaveOccurred())

	cached := func() *corev1.Node {
		found := &corev1.Node{}
		e.Expect(shoot.Reader.Get(e.ctx, client.ObjectKeyFromObject(node), found)).To(Succeed())
		return found
	}
	e.Expect(cached().Annotations).NotTo(HaveKey("a"))
	e.Expect(cached().Labels).To(BeNil())
	e.Expect(cached().Spec).To(Equal(corev1.NodeSpec{ProviderID: "example:///1", PodCIDR: "10.1.0.0/24", PodCIDRs: []string{"10.1.0.0/24"}}))
	// The sandbox plays the kubelet, which states its status again and again.
	e.Eventually(func(g Gomega) {
		g.Expect(e.shoot.Get(e.ctx, client.ObjectKeyFromObject(node), node)).To(Succeed())
		g.Expect(node.Status.Capacity).NotTo(BeEmpty())
		g.Expect(node.Status.Conditions).NotTo(BeEmpty())
		g.Expect(cached().Status).To(Equal(corev1.NodeStatus{Conditions: node.Status.Conditions}))
	}).Should(Succeed())
}

// What two controllers declare of a kind is cached so that each finds what it needs.
func TestDeclarationsAreUnited(t *testing.T) {
	g := NewWithT(t)
	selector := func(text string) labels.Selector { s, _ := labels.Parse(text); return s }
	field := func(text string) fields.Selector { return fields.ParseSelectorOrDie(text) }
	for name, c := range map[string]struct{ one, two, both Watch }{
		"metadata and typed":  {Watch{}, Watch{Typed: true}, Watch{Typed: true}},
		"silent and not":      {Watch{Silent: true}, Watch{}, Watch{}},
		"both silent":         {Watch{Silent: true}, Watch{Silent: true}, Watch{Silent: true}},
		"managed and others":  {Watch{}, Watch{Selector: selector("a=b")}, Watch{Selector: labels.Everything()}},
		"the same labels":     {Watch{Selector: selector("a=b")}, Watch{Selector: selector("a=b")}, Watch{Selector: selector("a=b")}},
		"different labels":    {Watch{Selector: selector("a=b")}, Watch{Selector: selector("a=c")}, Watch{Selector: labels.Everything()}},
		"the same fields":     {Watch{Fields: field("a=b")}, Watch{Fields: field("a=b")}, Watch{Fields: field("a=b")}},
		"all and some fields": {Watch{}, Watch{Fields: field("a=b")}, Watch{}},
	} {
		for _, order := range [][]Watch{{c.one, c.two}, {c.two, c.one}} {
			d := &declarations{}
			d.Declare(order...)
			g.Expect(d.of(schema.GroupVersionKind{})).To(Equal(c.both), name)
		}
	}
}

// A field selector restricts what is cached.
func TestFieldsRestrictWhatIsCached(t *testing.T) {
	e := newEnv(t)
	e.grant(e.shoot.Kubeconfig)
	e.clients.Declare(Watch{
		Kind: configMaps, Typed: true, Selector: labels.Everything(),
		Fields: fields.OneTermEqualSelector("metadata.name", e.namespace+"-one"),
	})
	for _, name := range []string{"one", "two"} {
		e.Expect(e.shoot.Create(e.ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: e.namespace + "-" + name}, Data: map[string]string{"a": "b"},
		})).To(Succeed())
	}
	shoot, err := e.clients.For(e.ctx, e.namespace)
	e.Expect(err).NotTo(HaveOccurred())
	list := &corev1.ConfigMapList{}
	e.Expect(shoot.Reader.List(e.ctx, list)).To(Succeed())
	e.Expect(list.Items).To(HaveLen(1))
	e.Expect(list.Items[0].Name).To(Equal(e.namespace + "-one"))
	e.Expect(list.Items[0].Data).To(HaveKeyWithValue("a", "b"))
}
