// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/exampleplugin"
)

// story is a life without a Network: the test writes a ManagedResource with objects, another
// client changes the objects, and the test then writes other objects, or deletes the
// ManagedResource.
type story struct {
	name string
	// first are the objects at the beginning, then is what another client does, and second are
	// the objects afterwards. If second is nil, the test deletes the ManagedResource.
	first, second func(w *world) []plugin.Object
	then          func(w *world)
	// check checks the result.
	check func(w *world)
	// goes are the objects that may be deleted.
	goes []string
	// manage changes the ManagedResource before it is written for the second time.
	manage func(w *world, mr *resourcesv1alpha1.ManagedResource)
	// act, if it is set, replaces the second write.
	act func(w *world)
	// asIs means that the resource manager does not apply the second ManagedResource.
	asIs bool
	// ends waits for what happens after the ManagedResource is applied.
	ends func(w *world)
}

// managedName is the name of the ManagedResource in stories.
const managedName = "example"

// life returns the story as a life of two scenarios. Tests disturb the second one.
func (s *story) life() *life {
	ready := func(w *world) {
		w.Eventually(func() bool { return w.managed(managedName) != nil }).Should(BeTrue())
		w.awaitHealth()
	}
	last := &scenario{
		name: s.name, withoutNetwork: true, goes: s.goes, everythingGoes: s.second == nil && s.act == nil, check: s.check, finish: ready,
		before: s.then,
		act: func(w *world) {
			if s.act != nil {
				s.act(w)
				return
			}
			if s.second == nil {
				w.Expect(w.api.client.Delete(w.ctx, w.managed(managedName))).To(Succeed())
				return
			}
			w.state(s.second(w), s.manage)
		},
	}
	switch {
	case s.asIs:
		last.finish = (*world).calm // nothing happens, so there is nothing to wait for
	case s.ends != nil:
		last.finish = func(w *world) { ready(w); s.ends(w) }
	case s.second == nil:
		last.finish = func(w *world) { w.Eventually(func() bool { return w.managed(managedName) == nil }).Should(BeTrue()) }
	}
	return &life{name: s.name, trigger: network.TriggerGeneration, scenarios: []*scenario{
		{name: "before", withoutNetwork: true, onTheWay: true, act: func(w *world) { w.state(s.first(w), nil) }, finish: ready},
		last,
	}}
}

// state writes the ManagedResource as the network controller does.
func (w *world) state(objects []plugin.Object, manage func(*world, *resourcesv1alpha1.ManagedResource)) {
	data, err := pipeline.Documents(objects)
	w.Expect(err).NotTo(HaveOccurred())
	for _, each := range objects {
		if kind := each.GetObjectKind().GroupVersionKind(); !slices.Contains(w.kinds, kind) {
			w.kinds = append(w.kinds, kind)
		}
	}
	b := &bundle.Bundle{Namespace: w.namespace(), Name: managedName, Origin: "story", Data: data}
	w.ownSecrets = append(w.ownSecrets, w.nameOfSecret(b.SecretName(), data)...)
	current := w.managed(managedName)
	if current != nil && manage != nil {
		before := current.DeepCopy()
		manage(w, current)
		w.Expect(w.api.client.Patch(w.ctx, current, client.MergeFrom(before))).To(Succeed())
	}
	_, err = b.Write(w.ctx, w.api.client, current)
	w.Expect(err).NotTo(HaveOccurred())
}

// test runs the story without disturbance, and then with kills in its second scenario.
func (s *story) test(t *testing.T) {
	t.Run(s.name, func(t *testing.T) {
		t.Parallel()
		l := s.life()
		last, kills := l.mostWrites(t), 1
		if *all {
			kills = 2
		}
		for k := 1; k <= last; k++ {
			if k != last/2+1 && !*all {
				continue
			}
			t.Run(fmt.Sprintf("killed at %d of %d", k, last), func(t *testing.T) {
				t.Parallel()
				l.lived(t, func(s *scenario, g golden) []disturbance {
					if s.onTheWay || k > g.writes {
						return nil
					}
					return []disturbance{{killAt: k}, {killAt: 1, lost: true}}[:kills]
				})
			})
		}
	})
}

// named gives an object the namespace and name that it has in a run.
func named[T client.Object](w *world, name string, object T) T {
	object.SetNamespace(system)
	object.SetName(w.run + "-" + name)
	return object
}

// there returns an object of the shoot, and fails the test if it does not exist.
func there[T client.Object](w *world, name string, object T) T {
	w.t.Helper()
	named(w, name, object)
	w.Expect(w.api.client.Get(w.ctx, client.ObjectKeyFromObject(object), object)).To(Succeed(), name)
	return object
}

func (w *world) isThere(name string, object client.Object) bool {
	named(w, name, object)
	err := w.api.client.Get(w.ctx, client.ObjectKeyFromObject(object), object)
	w.Expect(client.IgnoreNotFound(err)).To(Succeed())
	return err == nil
}

// change changes an object of the shoot as another client.
func change[T client.Object](w *world, name string, object T, f func(T)) {
	there(w, name, object)
	before := object.DeepCopyObject().(T)
	f(object)
	w.Expect(w.api.client.Patch(w.ctx, object, client.MergeFrom(before), client.FieldOwner("kubectl-edit"))).To(Succeed())
}

// content returns a ConfigMap with annotations, each as "key=value".
func content(w *world, name, text string, annotations ...string) *corev1.ConfigMap {
	return annotated(exampleplugin.ConfigMap(system, w.run+"-"+name, text), annotations...)
}

func annotated[T client.Object](object T, annotations ...string) T {
	all := map[string]string{}
	for _, each := range annotations {
		key, value, _ := strings.Cut(each, "=")
		all[key] = value
	}
	object.SetAnnotations(all)
	return object
}

func objects(all ...plugin.Object) []plugin.Object { return all }

func managers(object client.Object, field string) []string {
	var found []string
	for _, entry := range object.GetManagedFields() {
		if entry.FieldsV1 != nil && strings.Contains(string(entry.FieldsV1.GetRawBytes()), field) {
			found = append(found, entry.Manager)
		}
	}
	slices.Sort(found)
	return found
}

// The annotations by which objects and ManagedResources control the resource manager (Gardener
// contract, R6 to R8, R11, R19, R34, R35).
func TestAnnotations(t *testing.T) {
	for _, s := range annotationStories {
		s.test(t)
	}
}

// The changes by other clients that the resource manager reverts, and those that it keeps
// (Gardener contract, R10 to R13, R16, R30).
func TestExceptions(t *testing.T) {
	for _, s := range slices.Concat(metadataStories, workloadStories, serviceStories) {
		s.test(t)
	}
}

// storyOf returns a story of one object that gets another content.
func storyOf(name string, stated func(w *world, text string) plugin.Object, then, check func(w *world)) *story {
	return &story{
		name: name, then: then, check: check,
		first:  func(w *world) []plugin.Object { return objects(stated(w, "red")) },
		second: func(w *world) []plugin.Object { return objects(stated(w, "blue")) },
	}
}
