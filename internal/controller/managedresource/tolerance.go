// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// tolerance says which fields of an object others may set and change (section
// 3.7). All else that others set on an object of ours is drift.
type tolerance struct {
	// paths are fields by their names; an element of a list is [key=value] as
	// fieldpath spells it. A path stands for everything beneath it, too.
	paths [][]string
	// labels and annotations say whether others may have such a key.
	labels, annotations func(key string) bool
}

// circumstances are what tolerance depends on besides the object.
type circumstances struct {
	// before is how the inventory knew the object, or nil.
	before *reference
	// labels and annotations are those that the object has.
	labels, annotations map[string]string
	// scaled says that an autoscaler owns the number of replicas.
	scaled bool
	// forceLabels and forceAnnotations say that others may not have any.
	forceLabels, forceAnnotations bool
}

// restartedAt is what `kubectl rollout restart` sets on pod templates.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

func toleranceFor(i *item, c circumstances) *tolerance {
	t := &tolerance{labels: func(key string) bool {
		return !c.forceLabels && !has(i.object.GetLabels(), key) && !c.isLabelOfBefore(key)
	}}
	t.annotations = func(key string) bool {
		if isBookkeeping(key) {
			return true
		}
		return (!c.forceAnnotations || isLoadBalancers(i, key)) && !strings.HasPrefix(key, resourcesv1alpha1.ReferencePrefix) &&
			!has(i.object.GetAnnotations(), key) && !c.isAnnotationOfBefore(key)
	}
	t.allow("status")
	if podTemplate(i.object) != nil && i.id.Group == "apps" {
		t.allow("spec", "template", "metadata", "annotations", restartedAt)
	}
	if replicasAreOthers(i, c.scaled) {
		t.allow("spec", "replicas")
	}
	if i.object.GetAnnotations()[resourcesv1alpha1.PreserveResources] == "true" {
		t.allowResources(i.object)
	}
	t.allowAllocated(i)
	return t
}

// isLabelOfBefore says whether a label is as it was stated before. Whoever has
// changed it since has made it theirs.
func (c *circumstances) isLabelOfBefore(key string) bool {
	return c.before != nil && inBoth(c.before.Labels, c.labels, key)
}

// isAnnotationOfBefore is isLabelOfBefore, for annotations.
func (c *circumstances) isAnnotationOfBefore(key string) bool {
	return c.before != nil && inBoth(c.before.Annotations, c.annotations, key)
}

// inBoth says whether both have a key, with the same value.
func inBoth(a, b map[string]string, key string) bool {
	value, ok := a[key]
	other, also := b[key]
	return ok && also && value == other
}

// allowAllocated allows what the API server, or a controller of Kubernetes'
// own, puts into the spec.
func (t *tolerance) allowAllocated(i *item) {
	stated := func(path ...string) bool {
		_, found, _ := unstructured.NestedFieldNoCopy(i.object.Object, path...)
		return found
	}
	switch i.id.GroupKind {
	case schema.GroupKind{Kind: "Service"}:
		t.allow("spec", "clusterIP")
		t.allow("spec", "clusterIPs")
		t.allow("spec", "healthCheckNodePort")
		if !stated("spec", "loadBalancerIP") {
			t.allow("spec", "loadBalancerIP")
		}
	case schema.GroupKind{Kind: "ServiceAccount"}:
		t.allow("secrets")
		t.allow("imagePullSecrets")
	case schema.GroupKind{Kind: "Secret"}:
		if kind, _, _ := unstructured.NestedString(i.object.Object, "type"); kind == "kubernetes.io/service-account-token" {
			t.allow("data")
		}
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		t.allow("spec", "volumeName")
		t.allow("spec", "storageClassName")
	case schema.GroupKind{Kind: "PersistentVolume"}:
		t.allow("spec", "claimRef")
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		t.allow("spec", "volumeClaimTemplates")
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		t.allow("spec", "selector")
		t.allow("spec", "template", "metadata", "labels")
	case schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:
		if stated("aggregationRule") {
			t.allow("rules")
		}
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		if !stated("spec", "conversion") {
			t.allow("spec", "conversion")
		}
		t.allow("spec", "conversion", "webhook", "clientConfig", "caBundle")
	}
}

// allowResources allows CPU and memory of the containers that are stated.
func (t *tolerance) allowResources(object *unstructured.Unstructured) {
	for _, list := range containerLists {
		for _, container := range containersOf(object, list) {
			name, _ := container["name"].(string)
			for _, path := range resourcePaths {
				t.allow(append([]string{"spec", "template", "spec", list, containerElement(name)}, path...)...)
			}
		}
	}
}

func (t *tolerance) allow(path ...string) { t.paths = append(t.paths, path) }

// allows says whether others may own the field at path.
func (t *tolerance) allows(path fieldpath.Path) bool {
	names := make([]string, len(path))
	for i, element := range path {
		if element.FieldName != nil {
			names[i] = *element.FieldName
		} else {
			names[i] = element.String()
		}
	}
	if names[0] == "metadata" {
		return t.allowsMetadata(names[1:])
	}
	return slices.ContainsFunc(t.paths, func(allowed []string) bool {
		return len(names) >= len(allowed) && slices.Equal(names[:len(allowed)], allowed)
	})
}

func (t *tolerance) allowsMetadata(names []string) bool {
	if len(names) == 0 {
		return true
	}
	switch names[0] {
	case "labels":
		return len(names) == 1 || t.labels(names[1])
	case "annotations":
		return len(names) == 1 || t.annotations(names[1])
	case "ownerReferences":
		return false
	}
	// Finalizers above all: they are what others hold on to an object by.
	return true
}

// isBookkeeping says whether Kubernetes' own controllers keep an annotation,
// which they would only set again.
func isBookkeeping(key string) bool {
	return strings.HasPrefix(key, "deployment.kubernetes.io/") || key == "deprecated.daemonset.template.generation"
}

// isLoadBalancers says whether the controller of a cloud's load balancers keeps an
// annotation of a Service. It would lose track of the load balancer without it, so
// it stays even where all others' annotations go.
func isLoadBalancers(i *item, key string) bool {
	return i.id.GroupKind == (schema.GroupKind{Kind: "Service"}) && strings.HasPrefix(key, "loadbalancer.")
}

// replicasAreOthers says whether the number of replicas is not ours to set on
// an object that exists.
func replicasAreOthers(i *item, scaled bool) bool {
	if !isScalable(i.id.GroupKind) {
		return false
	}
	_, stated, _ := unstructured.NestedFieldNoCopy(i.object.Object, "spec", "replicas")
	return !stated || scaled || i.object.GetAnnotations()[resourcesv1alpha1.PreserveReplicas] == "true"
}

func isScalable(kind schema.GroupKind) bool {
	return kind.Group == "apps" && (kind.Kind == "Deployment" || kind.Kind == "StatefulSet")
}

func has(m map[string]string, key string) bool {
	_, ok := m[key]
	return ok
}
