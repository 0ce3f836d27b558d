// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// keepAllocated puts into a Service what was allocated for it and would change
// otherwise: its address, and the node ports of ports that are renumbered or
// renamed. The API server itself keeps those of ports that stay as they are.
func keepAllocated(wanted, live *unstructured.Unstructured) {
	typeOf := func(service *unstructured.Unstructured) string {
		text, _, _ := unstructured.NestedString(service.Object, "spec", "type")
		return text
	}
	address, _, _ := unstructured.NestedString(wanted.Object, "spec", "clusterIP")
	if address != "" && address != "None" && typeOf(wanted) != "ExternalName" && typeOf(live) != "ExternalName" {
		for _, field := range []string{"clusterIP", "clusterIPs"} {
			if value, found, _ := unstructured.NestedFieldCopy(live.Object, "spec", field); found {
				_ = unstructured.SetNestedField(wanted.Object, value, "spec", field)
			}
		}
	}
	if t := typeOf(wanted); t == "NodePort" || t == "LoadBalancer" {
		keepNodePorts(wanted, live)
	}
}

func keepNodePorts(wanted, live *unstructured.Unstructured) {
	allocated := portsOf(live)
	for _, port := range portsOf(wanted) {
		if number, _ := port["nodePort"].(int64); number != 0 {
			continue
		}
		for _, there := range allocated {
			number, _ := there["nodePort"].(int64)
			if number != 0 && (samePort(port, there) || port["name"] != nil && port["name"] == there["name"]) {
				port["nodePort"] = number
				break
			}
		}
	}
}

// samePort says whether two ports have one number and protocol.
func samePort(a, b map[string]any) bool {
	protocol := func(port map[string]any) any {
		if port["protocol"] == nil {
			return "TCP"
		}
		return port["protocol"]
	}
	return a["port"] == b["port"] && protocol(a) == protocol(b)
}

// portsOf returns a Service's ports; changing them changes the Service.
func portsOf(service *unstructured.Unstructured) []map[string]any {
	spec, _ := service.Object["spec"].(map[string]any)
	entries, _ := spec["ports"].([]any)
	var ports []map[string]any
	for _, entry := range entries {
		if port, ok := entry.(map[string]any); ok {
			ports = append(ports, port)
		}
	}
	return ports
}
