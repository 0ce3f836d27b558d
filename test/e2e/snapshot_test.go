// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// transient are kinds whose objects Kubernetes itself creates, deletes or renames.
var transient = []string{"Event", "Lease", "Pod", "ReplicaSet", "ControllerRevision", "EndpointSlice", "Endpoints", "Node", "ComponentStatus", "APIService", "PodMetrics", "NodeMetrics", "ServiceCIDR", "IPAddress"}

// snapshot returns all objects of a cluster by kind, namespace and name, without the fields
// that differ from run to run.
func (w *world) snapshot(c cluster) map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for gvr, kind := range w.listable(c) {
		list, err := c.dynamic.Resource(gvr).List(context.Background(), metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue // the kind was deleted since the discovery
		}
		w.Expect(err).NotTo(HaveOccurred(), kind)
		for i := range list.Items {
			object := &list.Items[i]
			all[keyOf(object)] = normalized(w, object)
		}
	}
	return all
}

// keyOf returns the key of an object in a snapshot.
func keyOf(object *unstructured.Unstructured) string {
	kind := object.GroupVersionKind()
	return kind.Kind + "." + kind.Group + " " + object.GetNamespace() + "/" + object.GetName()
}

func (w *world) listable(c cluster) map[schema.GroupVersionResource]string {
	lists, err := c.discovery.ServerPreferredResources()
	w.Expect(err).NotTo(HaveOccurred())
	lists = discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists)
	found := map[schema.GroupVersionResource]string{}
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		w.Expect(err).NotTo(HaveOccurred())
		for _, resource := range list.APIResources {
			if !slices.Contains(transient, resource.Kind) {
				found[group.WithResource(resource.Name)] = resource.Kind + "." + group.Group
			}
		}
	}
	return found
}

// normalized returns an object as text, without the fields that differ from run to run.
func normalized(w *world, object *unstructured.Unstructured) string {
	content := object.DeepCopy().Object
	for _, path := range [][]string{
		{"status"}, {"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "creationTimestamp"},
		{"metadata", "managedFields"}, {"metadata", "generation"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"},
		{"metadata", "annotations", "deprecated.daemonset.template.generation"},
		{"metadata", "annotations", "deployment.kubernetes.io/revision"},
	} {
		unstructured.RemoveNestedField(content, path...)
	}
	if annotations, has, _ := unstructured.NestedMap(content, "metadata", "annotations"); has && len(annotations) == 0 {
		unstructured.RemoveNestedField(content, "metadata", "annotations")
	}
	if object.GetKind() == "Cluster" {
		unstructured.RemoveNestedField(content, "spec", "shoot") // its status has times
	}
	text, err := json.Marshal(content)
	w.Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// difference returns a line for each object that differs between two snapshots.
func difference(before, after map[string]string) []string {
	var lines []string
	for key, was := range before {
		switch is, still := after[key]; {
		case !still:
			lines = append(lines, "missing: "+key)
		case is != was:
			lines = append(lines, "differs: "+key+"\n  "+was+"\n  "+is)
		}
	}
	for key := range after {
		if _, known := before[key]; !known {
			lines = append(lines, "left over: "+key)
		}
	}
	slices.Sort(lines)
	return lines
}

// only returns the objects whose key contains one of the words.
func only(all map[string]string, words ...string) map[string]string {
	kept := map[string]string{}
	for key, value := range all {
		if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(key, word) }) {
			kept[key] = value
		}
	}
	return kept
}

// tidied waits until the operator has deleted the Secrets of earlier contents.
func (w *world) tidied() {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		secrets, managed := &corev1.SecretList{}, &resourcesv1alpha1.ManagedResourceList{}
		g.Expect(w.seed.List(w.t.Context(), secrets, client.HasLabels{resourcesv1alpha1.GarbageCollectable})).To(Succeed())
		g.Expect(w.seed.List(w.t.Context(), managed)).To(Succeed())
		used := map[string]bool{}
		for i := range managed.Items {
			used[managed.Items[i].Spec.SecretRefs[0].Name] = true
		}
		for i := range secrets.Items {
			if name := secrets.Items[i].Name; strings.HasPrefix(name, "managedresource-") {
				g.Expect(used).To(HaveKey(name))
			}
		}
	}).Should(Succeed())
}
