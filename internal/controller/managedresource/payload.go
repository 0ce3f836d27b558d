// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// containerLists are the lists of a pod's containers.
var containerLists = []string{"initContainers", "containers"}

// resourcePaths are the fields of a container that autoscalers set.
var resourcePaths = [][]string{
	{"resources", "requests", "cpu"}, {"resources", "requests", "memory"},
	{"resources", "limits", "cpu"}, {"resources", "limits", "memory"},
}

// payload returns what is to be applied to live: the item's object, without
// stating what is left to others.
func payload(i *item, live *unstructured.Unstructured, who *ownership, scaled bool) *unstructured.Unstructured {
	object := i.object.DeepCopy()
	if replicasAreOthers(i, scaled) {
		leaveReplicas(object, live, who)
	}
	if object.GetAnnotations()[resourcesv1alpha1.PreserveResources] == "true" {
		leaveResources(object, who.others)
	}
	if i.id.GroupKind == (schema.GroupKind{Group: "apps", Kind: "StatefulSet"}) {
		// They are immutable.
		if claims, found, _ := unstructured.NestedFieldCopy(live.Object, "spec", "volumeClaimTemplates"); found {
			_ = unstructured.SetNestedField(object.Object, claims, "spec", "volumeClaimTemplates")
		}
	}
	if i.id.GroupKind == (schema.GroupKind{Kind: "Service"}) {
		keepAllocated(object, live)
	}
	return object
}

// leaveReplicas takes spec.replicas out of the object. Only if nobody but us owns
// them in live it states what is there: not to state an own field removes it.
func leaveReplicas(object, live *unstructured.Unstructured, who *ownership) {
	path := fieldpath.MakePathOrDie("spec", "replicas")
	unstructured.RemoveNestedField(object.Object, "spec", "replicas")
	if who.others.Has(path) || !who.ours.Has(path) {
		return
	}
	if replicas, found, _ := unstructured.NestedInt64(live.Object, "spec", "replicas"); found {
		_ = unstructured.SetNestedField(object.Object, replicas, "spec", "replicas")
	}
}

// leaveResources takes out of the object what others own of its containers' CPU
// and memory.
func leaveResources(object *unstructured.Unstructured, others *fieldpath.Set) {
	for _, list := range containerLists {
		for _, container := range containersOf(object, list) {
			name, _ := container["name"].(string)
			for _, path := range resourcePaths {
				full := fieldpath.MakePathOrDie("spec", "template", "spec", list,
					fieldpath.KeyByFields("name", name), path[0], path[1], path[2])
				if others.Has(full) {
					unstructured.RemoveNestedField(container, path...)
				}
			}
		}
	}
}

// containersOf returns the containers in a workload's pod template; changing
// them changes the workload.
func containersOf(object *unstructured.Unstructured, list string) []map[string]any {
	pod, _ := podTemplate(object)["spec"].(map[string]any)
	entries, _ := pod[list].([]any)
	var containers []map[string]any
	for _, entry := range entries {
		if container, ok := entry.(map[string]any); ok {
			containers = append(containers, container)
		}
	}
	return containers
}

// containerElement is how fieldpath spells the container with a name.
func containerElement(name string) string {
	return fieldpath.KeyElement(value.Field{Name: "name", Value: value.NewValueInterface(name)}).String()
}
