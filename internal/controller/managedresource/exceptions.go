// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// exceptions are the fields of an object that others may set and change (Gardener
// contract, R30). Everything else that others set is drift.
type exceptions struct {
	// paths are fields by their names; an element of a list is [key=value] as
	// fieldpath spells it. A path includes everything beneath it.
	paths [][]string
	// labels and annotations report whether others may have such a key.
	labels, annotations func(key string) bool
}

// restartedAt is the annotation that `kubectl rollout restart` sets on pod templates (R12).
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// allocated are fields that the API server or one of Kubernetes' controllers sets.
var allocated = map[schema.GroupKind][]string{
	{Kind: "Service"}:             {"spec.clusterIP", "spec.clusterIPs", "spec.healthCheckNodePort", "spec.loadBalancerIP"},
	{Kind: "ServiceAccount"}:      {"secrets", "imagePullSecrets"},
	{Group: "batch", Kind: "Job"}: {"spec.selector", "spec.template.metadata.labels"},
}

// exceptionsFor returns the exceptions for an object. before is the object in the inventory
// that the run began with, or nil.
func exceptionsFor(i *item, before *reference, live *unstructured.Unstructured) *exceptions {
	if before == nil {
		before = &reference{}
	}
	e := &exceptions{paths: [][]string{{"status"}}}
	e.labels = func(key string) bool {
		return !has(i.object.GetLabels(), key) && !isFormer(before.Labels, live.GetLabels(), key)
	}
	e.annotations = func(key string) bool {
		return !has(i.object.GetAnnotations(), key) && !isFormer(before.Annotations, live.GetAnnotations(), key)
	}
	if podTemplate(i.object) != nil && i.id.Group == "apps" {
		e.allow("spec", "template", "metadata", "annotations", restartedAt)
	}
	if keepsReplicas(i) {
		e.allow("spec", "replicas")
	}
	if isMarked(i.object, resourcesv1alpha1.PreserveResources) {
		e.allowResources(i.object)
	}
	for _, field := range allocated[i.id.GroupKind] {
		e.allow(strings.Split(field, ".")...)
	}
	if i.id.Kind == "ClusterRole" && states(i.object, "aggregationRule") {
		e.allow("rules")
	}
	if kind, _, _ := unstructured.NestedString(i.object.Object, "type"); i.id.Kind == "Secret" && kind == "kubernetes.io/service-account-token" {
		e.allow("data")
	}
	return e
}

// isFormer reports whether a label or annotation is as a former bundle stated it, so that
// it must go. A value that another client has changed since is that client's.
func isFormer(before, now map[string]string, key string) bool {
	return has(before, key) && has(now, key) && before[key] == now[key]
}

// keepsReplicas reports whether the replicas of an existing object are not for the
// bundle to set (R11).
func keepsReplicas(i *item) bool {
	return i.id.Group == "apps" && (i.id.Kind == "Deployment" || i.id.Kind == "StatefulSet") &&
		(!states(i.object, "spec", "replicas") || isMarked(i.object, resourcesv1alpha1.PreserveReplicas))
}

func (e *exceptions) allow(path ...string) { e.paths = append(e.paths, path) }

// allowResources allows CPU and memory of the containers that the bundle states.
func (e *exceptions) allowResources(object *unstructured.Unstructured) {
	for _, list := range containerLists {
		for name := range containersOf(object, list) {
			key := fieldpath.KeyElement(value.Field{Name: "name", Value: value.NewValueInterface(name)})
			for _, path := range resourcePaths {
				e.allow(append([]string{"spec", "template", "spec", list, key.String()}, path...)...)
			}
		}
	}
}

// allows reports whether others may own the field at path.
func (e *exceptions) allows(path fieldpath.Path) bool {
	names := make([]string, len(path))
	for i, element := range path {
		if names[i] = element.String(); element.FieldName != nil {
			names[i] = *element.FieldName
		}
	}
	if names[0] == "metadata" {
		return e.allowsMetadata(names[1:])
	}
	return slices.ContainsFunc(e.paths, func(allowed []string) bool {
		return len(names) >= len(allowed) && slices.Equal(names[:len(allowed)], allowed)
	})
}

func (e *exceptions) allowsMetadata(names []string) bool {
	switch {
	case len(names) == 0:
		return true
	case names[0] == "labels":
		return len(names) == 1 || e.labels(names[1])
	case names[0] == "annotations":
		return len(names) == 1 || e.annotations(names[1])
	}
	// Finalizers above all: they are how others delay the deletion of an object.
	return names[0] != "ownerReferences"
}

func states(object *unstructured.Unstructured, path ...string) bool {
	_, found, _ := unstructured.NestedFieldNoCopy(object.Object, path...)
	return found
}

func has(m map[string]string, key string) bool {
	_, ok := m[key]
	return ok
}
