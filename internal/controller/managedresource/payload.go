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
		leaveResources(object, live, who)
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

// leaveReplicas leaves spec.replicas as live has them.
func leaveReplicas(object, live *unstructured.Unstructured, who *ownership) {
	unstructured.RemoveNestedField(object.Object, "spec", "replicas")
	if !who.onlyOurs(fieldpath.MakePathOrDie("spec", "replicas")) {
		return
	}
	if replicas, found, _ := unstructured.NestedInt64(live.Object, "spec", "replicas"); found {
		_ = unstructured.SetNestedField(object.Object, replicas, "spec", "replicas")
	}
}

// leaveResources leaves CPU and memory of the containers as live has them, whatever
// is stated and whoever has set them. What live lacks is set as stated.
func leaveResources(object, live *unstructured.Unstructured, who *ownership) {
	for _, list := range containerLists {
		there := map[string]map[string]any{}
		for _, container := range containersOf(live, list) {
			name, _ := container["name"].(string)
			there[name] = container
		}
		for _, container := range containersOf(object, list) {
			name, _ := container["name"].(string)
			for _, path := range resourcePaths {
				value, found, _ := unstructured.NestedFieldCopy(there[name], path...)
				if !found {
					continue
				}
				unstructured.RemoveNestedField(container, path...)
				if who.onlyOurs(fieldpath.MakePathOrDie("spec", "template", "spec", list,
					fieldpath.KeyByFields("name", name), path[0], path[1], path[2])) {
					_ = unstructured.SetNestedField(container, value, path...)
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
