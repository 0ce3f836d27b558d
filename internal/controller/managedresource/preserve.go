// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
func preserving(i *item, live *unstructured.Unstructured, owners *ownership, scaled bool) *unstructured.Unstructured {
	object := i.object.DeepCopy()
	if keepsReplicas(i, scaled) {
		unstructured.RemoveNestedField(object.Object, "spec", "replicas")
		if owners.onlyOurs("spec", "replicas") {
			copyField(object.Object, live.Object, "spec", "replicas")
		}
	}
	if object.GetAnnotations()[resourcesv1alpha1.PreserveResources] == "true" {
		keepResources(object, live, owners)
	}
	switch i.id.GroupKind {
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		copyField(object.Object, live.Object, "spec", "volumeClaimTemplates") // It is immutable.
	case schema.GroupKind{Kind: "Service"}:
		keepAllocated(object, live)
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
	for _, container := range objectsIn(pod, list) {
		name, _ := container["name"].(string)
		byName[name] = container
	}
	return byName
}

// objectsIn returns the objects in a list; changing them changes the list.
func objectsIn(parent map[string]any, list string) (objects []map[string]any) {
	entries, _ := parent[list].([]any)
	for _, entry := range entries {
		if object, ok := entry.(map[string]any); ok {
			objects = append(objects, object)
		}
	}
	return objects
}

func copyField(to, from map[string]any, path ...string) {
	if value, found, _ := unstructured.NestedFieldCopy(from, path...); found {
		_ = unstructured.SetNestedField(to, value, path...)
	}
}

// keepAllocated keeps what was allocated for a Service and would change otherwise: its
// address, and the node ports of ports that get another number or name (R13). The API
// server itself keeps those of ports that stay as they are.
func keepAllocated(wanted, live *unstructured.Unstructured) {
	spec, _ := wanted.Object["spec"].(map[string]any)
	there, _ := live.Object["spec"].(map[string]any)
	address, _ := spec["clusterIP"].(string)
	if address != "" && address != "None" && spec["type"] != "ExternalName" && there["type"] != "ExternalName" {
		copyField(spec, there, "clusterIP")
		copyField(spec, there, "clusterIPs")
	}
	if spec["type"] != "NodePort" && spec["type"] != "LoadBalancer" {
		return
	}
	for _, port := range objectsIn(spec, "ports") {
		for _, former := range objectsIn(there, "ports") {
			sameNumber := port["port"] == former["port"] && protocolOf(port) == protocolOf(former)
			sameName := port["name"] != nil && port["name"] == former["name"]
			if number, _ := port["nodePort"].(int64); number == 0 && (sameNumber || sameName) {
				copyField(port, former, "nodePort")
			}
		}
	}
}

func protocolOf(port map[string]any) any {
	if port["protocol"] == nil {
		return "TCP"
	}
	return port["protocol"]
}
