// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// containerLists are the lists of a pod's containers.
var containerLists = []string{"initContainers", "containers"}

// resourcePaths are the fields of a container that autoscalers set.
var resourcePaths = [][]string{
	{"resources", "requests", "cpu"}, {"resources", "requests", "memory"},
	{"resources", "limits", "cpu"}, {"resources", "limits", "memory"},
}

// preserving returns what must be applied to live: the item's object, with the fields
// that live keeps.
func preserving(i *item, live *unstructured.Unstructured, owners *ownership) *unstructured.Unstructured {
	object := i.object.DeepCopy()
	if keepsReplicas(i) {
		unstructured.RemoveNestedField(object.Object, "spec", "replicas")
		if owners.onlyOurs("spec", "replicas") {
			copyField(object.Object, live.Object, "spec", "replicas")
		}
	}
	if isMarked(object, resourcesv1alpha1.PreserveResources) {
		keepResources(object, live, owners)
	}
	return object
}

// keepResources leaves CPU and memory of the containers as live has them. What live
// lacks is set as stated.
func keepResources(object, live *unstructured.Unstructured, owners *ownership) {
	for _, list := range containerLists {
		there := containersOf(live, list)
		for name, container := range containersOf(object, list) {
			for _, path := range resourcePaths {
				if _, found, _ := unstructured.NestedFieldNoCopy(there[name], path...); !found {
					continue
				}
				unstructured.RemoveNestedField(container, path...)
				if owners.onlyOurs("spec", "template", "spec", list, fieldpath.KeyByFields("name", name), path[0], path[1], path[2]) {
					copyField(container, there[name], path...)
				}
			}
		}
	}
}

// containersOf returns the containers in a workload's pod template by their names;
// changing them changes the workload.
func containersOf(object *unstructured.Unstructured, list string) map[string]map[string]any {
	pod, _ := podTemplate(object)["spec"].(map[string]any)
	byName := map[string]map[string]any{}
	entries, _ := pod[list].([]any)
	for _, entry := range entries {
		if container, ok := entry.(map[string]any); ok {
			name, _ := container["name"].(string)
			byName[name] = container
		}
	}
	return byName
}

func copyField(to, from map[string]any, path ...string) {
	if value, found, _ := unstructured.NestedFieldCopy(from, path...); found {
		_ = unstructured.SetNestedField(to, value, path...)
	}
}
