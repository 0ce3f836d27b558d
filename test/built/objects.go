// SPDX-License-Identifier: Apache-2.0

package built

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Need returns the shoot's object of that type and name, and fails without it.
func Need[T plugin.Object](n Holder, name string) T {
	n.network().T.Helper()
	objects := n.network().Objects
	found, ok := find[T](objects.For(plugin.Shoot), name)
	if !ok {
		n.network().T.Fatalf("the shoot gets no %T %s", found, name)
	}
	return found
}

// InSeed returns the seed's object of that type and name, and fails without it.
func InSeed[T plugin.Object](n Holder, name string) T {
	n.network().T.Helper()
	found, ok := find[T](n.network().Objects.For(plugin.Seed), name)
	if !ok {
		n.network().T.Fatalf("the seed gets no %T %s", found, name)
	}
	return found
}

func find[T plugin.Object](objects []plugin.Object, name string) (found T, ok bool) {
	for _, object := range objects {
		if typed, ok := object.(T); ok && typed.GetName() == name {
			return typed, true
		}
	}
	return found, false
}

// Spec returns the spec of the shoot's object of that kind and name as it is written, and
// fails without it.
func (n *Network) Spec(kind, name string) map[string]any {
	n.T.Helper()
	for _, object := range n.Objects.For(plugin.Shoot) {
		if Shown(object) == kind+" "+name {
			return Document(n.T, object)["spec"].(map[string]any)
		}
	}
	n.T.Fatalf("there is no %s %s", kind, name)
	return nil
}

// Shown is the kind and name of an object.
func Shown(object plugin.Object) string {
	return object.GetObjectKind().GroupVersionKind().Kind + " " + object.GetName()
}

// Inventory shows each of these objects.
func Inventory(objects []plugin.Object) []string {
	list := []string{}
	for _, object := range objects {
		list = append(list, Shown(object))
	}
	return list
}

// Document is an object as it is written.
func Document(t *testing.T, object plugin.Object) map[string]any {
	t.Helper()
	document, err := pipeline.Document(object)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// Documents are objects as they are written, all in one.
func Documents(t *testing.T, objects []plugin.Object) string {
	t.Helper()
	raw, err := pipeline.Documents(objects)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Container returns the container of that name, be it an init container or not, and
// fails without it.
func Container(t *testing.T, pod corev1.PodSpec, name string) corev1.Container {
	t.Helper()
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		if container.Name == name {
			return container
		}
	}
	t.Fatalf("there is no container %s", name)
	return corev1.Container{}
}

// Names are the names of containers.
func Names(containers []corev1.Container) []string {
	list := []string{}
	for _, container := range containers {
		list = append(list, container.Name)
	}
	return list
}
