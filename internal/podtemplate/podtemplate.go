// SPDX-License-Identifier: Apache-2.0

// Package podtemplate compares workloads' pod templates as they are written, without an API
// server: controllers replace pods when a template changes, and API servers fill in what a
// manifest leaves out.
package podtemplate

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Of returns the pod template of a workload, decoded. It is nil for any other object. Fields that
// no pod has are ignored, as API servers do.
func Of(workload map[string]any) (*corev1.PodTemplateSpec, error) {
	path := []string{"spec", "template"}
	switch workload["kind"] {
	case "Deployment", "DaemonSet", "StatefulSet", "Job":
	case "CronJob":
		path = []string{"spec", "jobTemplate", "spec", "template"}
	default:
		return nil, nil
	}
	content, has, err := unstructured.NestedMap(workload, path...)
	if err != nil || !has {
		return nil, err
	}
	template := &corev1.PodTemplateSpec{}
	return template, runtime.DefaultUnstructuredConverter.FromUnstructured(content, template)
}

// Plain returns a template's content without what API servers fill in. Templates of one Plain
// content start the same pods.
func Plain(template *corev1.PodTemplateSpec) (map[string]any, error) {
	copied := template.DeepCopy()
	copied.Spec.DeprecatedServiceAccount = "" // which is another name of a field
	for _, containers := range [][]corev1.Container{copied.Spec.InitContainers, copied.Spec.Containers} {
		for i := range containers {
			for j := range containers[i].Ports {
				if port := &containers[i].Ports[j]; copied.Spec.HostNetwork && port.HostPort == port.ContainerPort {
					port.HostPort = 0
				}
			}
		}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(copied)
	if err != nil {
		return nil, err
	}
	return withoutDefaults(content).(map[string]any), nil
}

// defaults are what API servers fill in, by the name of the field.
var defaults = map[string]any{
	"protocol": "TCP", "scheme": "HTTP", "imagePullPolicy": "IfNotPresent", "apiVersion": "v1", "divisor": "0", "service": "", "type": "",
	"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
	"successThreshold": int64(1), "failureThreshold": int64(3), "timeoutSeconds": int64(1), "periodSeconds": int64(10),
	"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
	"terminationGracePeriodSeconds": int64(30), "defaultMode": int64(0o644),
}

// withoutDefaults removes from a value the fields with defaults and those without a value. A
// volume's emptyDir stays: that it is there is its value.
func withoutDefaults(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			field = withoutDefaults(field)
			value[key] = field
			parts, nested := field.(map[string]any)
			usual, known := defaults[key]
			if field == nil || nested && len(parts) == 0 && key != "emptyDir" || known && reflect.DeepEqual(field, usual) {
				delete(value, key)
			}
		}
	case []any:
		for i := range value {
			value[i] = withoutDefaults(value[i])
		}
	}
	return value
}

// Differences returns the paths at which two templates start different pods, sorted; none if no
// pod is replaced. Elements of lists have their names in the paths, where they have any.
func Differences(before, after *corev1.PodTemplateSpec) ([]string, error) {
	then, err := Plain(before)
	if err != nil {
		return nil, err
	}
	now, err := Plain(after)
	if err != nil {
		return nil, err
	}
	return slices.Compact(slices.Sorted(slices.Values(differ("", then, now, nil)))), nil
}

func differ(path string, before, after any, found []string) []string {
	if reflect.DeepEqual(before, after) {
		return found
	}
	then, were := parts(before)
	now, are := parts(after)
	if !were || !are {
		return append(found, path)
	}
	known := len(found)
	for _, key := range slices.Sorted(maps.Keys(merged(then, now))) {
		switch {
		case path == "":
			found = differ(key, then[key], now[key], found)
		case strings.HasPrefix(key, "["):
			found = differ(path+key, then[key], now[key], found)
		default:
			found = differ(path+"."+key, then[key], now[key], found)
		}
	}
	if len(found) == known {
		found = append(found, path) // the same elements in another order
	}
	return found
}

func merged(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// parts returns the fields of a map, or the elements of a list by their names or else their places.
func parts(value any) (map[string]any, bool) {
	switch value := value.(type) {
	case map[string]any:
		return value, true
	case []any:
		elements := map[string]any{}
		for i, element := range value {
			key := fmt.Sprintf("[%d]", i)
			if fields, ok := element.(map[string]any); ok {
				if name, named := fields["name"].(string); named {
					key = "[" + name + "]"
				}
			}
			elements[key] = element
		}
		return elements, true
	}
	return nil, false
}
