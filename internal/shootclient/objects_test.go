// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func cachedConfigMap(name, version string, labels map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: name, ResourceVersion: version, Labels: labels}}
}

// newTestObjects returns a cache of ConfigMaps, and what it has told of changes.
func newTestObjects() (o *objects, told *[]string) {
	told = &[]string{}
	version := func(object client.Object) string {
		if object == nil {
			return "-"
		}
		return object.GetResourceVersion()
	}
	return &objects{
		kind: configMaps, all: map[types.NamespacedName]client.Object{},
		admit: func(object any) (any, error) { return object, nil },
		changed: func(before, after client.Object) {
			named := after
			if after == nil {
				named = before
			}
			*told = append(*told, fmt.Sprintf("%s %s→%s", named.GetName(), version(before), version(after)))
		},
	}, told
}

// A reflector lists again if its watch has missed changes. What came, changed and went meanwhile
// is told then; what the first list had is no change.
func TestChangesBetweenTwoListsAreTold(t *testing.T) {
	g := NewWithT(t)
	o, told := newTestObjects()
	g.Expect(o.ready()).To(BeFalse())
	g.Expect(o.Replace([]any{cachedConfigMap("stays", "1", nil), cachedConfigMap("changes", "2", nil), cachedConfigMap("goes", "3", nil)}, "3")).To(Succeed())
	g.Expect(o.ready()).To(BeTrue())
	g.Expect(*told).To(BeEmpty())
	g.Expect(o.Replace([]any{cachedConfigMap("stays", "1", nil), cachedConfigMap("changes", "4", nil), cachedConfigMap("comes", "5", nil)}, "6")).To(Succeed())
	g.Expect(*told).To(ConsistOf("stays 1→1", "changes 2→4", "goes 3→-", "comes -→5"))
	*told = nil
	g.Expect(o.Delete(cachedConfigMap("goes", "3", nil))).To(Succeed())
	g.Expect(*told).To(BeEmpty(), "it was gone before")
}

// What the cache refuses is neither kept nor told.
func TestARefusedObjectIsNotCached(t *testing.T) {
	g := NewWithT(t)
	o, told := newTestObjects()
	o.admit = func(any) (any, error) { return nil, errTooLarge }
	g.Expect(o.Add(cachedConfigMap("one", "1", nil))).To(MatchError(errTooLarge))
	g.Expect(o.Update(cachedConfigMap("one", "2", nil))).To(MatchError(errTooLarge))
	g.Expect(apierrors.IsNotFound(o.get(types.NamespacedName{Namespace: "one", Name: "one"}, &corev1.ConfigMap{}))).To(BeTrue())
	g.Expect(*told).To(BeEmpty())
	for _, err := range []error{o.Add("text"), o.Delete("text"), o.Replace([]any{"text"}, "")} {
		if !errors.Is(err, errTooLarge) {
			g.Expect(err).To(MatchError(errNoObject))
		}
	}
}

// Readers get copies, of the objects that they select, and no answer to what the cache cannot select by.
func TestReadersGetCopiesOfWhatTheySelect(t *testing.T) {
	g := NewWithT(t)
	o, _ := newTestObjects()
	g.Expect(o.Add(cachedConfigMap("one", "1", map[string]string{"a": "b"}))).To(Succeed())
	g.Expect(o.Add(cachedConfigMap("two", "2", nil))).To(Succeed())
	key := types.NamespacedName{Namespace: "one", Name: "one"}
	found := &corev1.ConfigMap{}
	g.Expect(o.get(key, found)).To(Succeed())
	g.Expect(found.GroupVersionKind()).To(Equal(configMaps))
	found.Labels["a"] = "changed"
	g.Expect(o.get(key, found)).To(Succeed())
	g.Expect(found.Labels).To(HaveKeyWithValue("a", "b"))
	g.Expect(o.get(key, &corev1.Secret{})).To(MatchError("the cache has ConfigMap as *v1.ConfigMap, not as *v1.Secret"))

	names := func(options ...client.ListOption) []string {
		list := &corev1.ConfigMapList{}
		g.Expect(o.list(list, options...)).To(Succeed())
		var found []string
		for i := range list.Items {
			found = append(found, list.Items[i].Name)
			list.Items[i].Name = "changed"
		}
		return found
	}
	g.Expect(names()).To(ConsistOf("one", "two"))
	g.Expect(names(client.InNamespace("one"))).To(ConsistOf("one", "two"))
	g.Expect(names(client.InNamespace("two"))).To(BeEmpty())
	g.Expect(names(client.MatchingLabels{"a": "b"})).To(ConsistOf("one"))
	g.Expect(o.list(&corev1.ConfigMapList{}, client.Limit(1))).To(MatchError("the cache selects objects by nothing but their namespace and labels"))
}
