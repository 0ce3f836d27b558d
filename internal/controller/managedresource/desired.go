// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// description is the annotation on the objects that warns users.
const description = `DO NOT EDIT - This object is managed by Trellis.
Any change to it is reverted.`

// item is one object that is desired in the shoot.
type item struct {
	id  identity
	ref reference
	// object is what is applied; nil in an item that is only remembered.
	object *unstructured.Unstructured
	// hash of object.
	hash string
}

// desired is what a ManagedResource desires in its shoot.
type desired struct {
	// items in the order in which they are applied.
	items []*item
	// inventory refers to the items, sorted as in the status.
	inventory []reference
	// leftOut are objects of optional kinds that the shoot lacks.
	leftOut []*item
	// problems are why documents cannot be applied, as sentences.
	problems []string
}

// composer makes the desired objects of the content of Secrets.
type composer struct {
	mr      *resourcesv1alpha1.ManagedResource
	options *Options
	kinds   kinds
	// scopes are the kinds that CRDs among the objects define, and whether their objects
	// are in namespaces.
	scopes map[schema.GroupKind]bool
	// served reports which of the optional kinds the shoot has.
	served map[schema.GroupVersionKind]bool
}

// compose gives each object its namespace, labels and annotations. An error
// means that the shoot could not be asked about a kind.
func (c *composer) compose(ctx context.Context, content *content) (*desired, error) {
	d := &desired{problems: content.problems}
	seen := map[identity]bool{}
	c.scopes, c.served = scopesOf(content.objects), map[schema.GroupVersionKind]bool{}
	for _, object := range content.objects {
		if err := c.setNamespace(object); err != nil {
			return nil, err
		}
		id := identityOfObject(object)
		absent, err := c.isLeftOut(ctx, object)
		if err != nil {
			return nil, err
		}
		switch {
		case c.options.Confined && id.Namespace != c.mr.Namespace:
			d.problems = append(d.problems, fmt.Sprintf("%s is not in the namespace %s; objects elsewhere are not applied", id, c.mr.Namespace))
			continue
		case seen[id]:
			d.problems = append(d.problems, fmt.Sprintf("%s is stated more than once; only the first one counts", id))
			continue
		case absent:
			d.leftOut = append(d.leftOut, c.item(id, object))
		default:
			d.items = append(d.items, c.item(id, object))
		}
		seen[id] = true
	}
	sortForApply(d.items)
	for _, each := range d.items {
		d.inventory = append(d.inventory, each.ref)
	}
	sortInventory(d.inventory)
	return d, nil
}

// isLeftOut reports whether an object is of an optional kind that the shoot lacks. The
// kind is optional if the object is marked so or the target is shared. Kinds of
// Kubernetes' own are always there.
func (c *composer) isLeftOut(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	kind := object.GroupVersionKind()
	optional := c.options.Confined || isMarked(object, resourcesv1alpha1.OptionalKind)
	if _, defined := c.scopes[kind.GroupKind()]; defined || !optional || clientgoscheme.Scheme.Recognizes(kind) {
		return false, nil
	}
	served, known := c.served[kind]
	if !known {
		var err error
		if served, err = c.kinds.served(ctx, kind); err != nil {
			return false, err
		}
		c.served[kind] = served
	}
	return !served, nil
}

func (c *composer) item(id identity, object *unstructured.Unstructured) *item {
	unstructured.RemoveNestedField(object.Object, "status")
	for _, field := range []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	added := labels.Merge(c.mr.Spec.InjectLabels, labels.Set{resourcesv1alpha1.ManagedBy: c.options.ManagedBy})
	object.SetLabels(labels.Merge(object.GetLabels(), added))
	if template := podTemplate(object); template != nil {
		template := unstructured.Unstructured{Object: template}
		unstructured.RemoveNestedField(template.Object, "metadata", "creationTimestamp")
		template.SetLabels(labels.Merge(template.GetLabels(), added))
	}
	ref := newReference(object)
	object.SetAnnotations(labels.Merge(object.GetAnnotations(), labels.Set{
		resourcesv1alpha1.Origin:      client.ObjectKeyFromObject(c.mr).String(),
		resourcesv1alpha1.Description: description,
	}))
	return &item{id: id, ref: ref, object: object, hash: hashOf(object)}
}

// setNamespace gives an object of a namespaced kind the namespace "default" if it has
// none, and removes it from an object of a cluster-scoped kind. CRDs in the same
// ManagedResource take precedence: the shoot may not have them yet.
func (c *composer) setNamespace(object *unstructured.Unstructured) (err error) {
	namespaced, defined := c.scopes[object.GroupVersionKind().GroupKind()]
	if !defined {
		if namespaced, err = c.kinds.namespaced(object.GroupVersionKind()); err != nil {
			return err
		}
	}
	switch {
	case !namespaced:
		object.SetNamespace("")
	case object.GetNamespace() == "":
		object.SetNamespace("default")
	}
	return nil
}

func scopesOf(objects []*unstructured.Unstructured) map[schema.GroupKind]bool {
	scopes := map[schema.GroupKind]bool{}
	for _, object := range objects {
		if isCRD(object.GroupVersionKind().GroupKind()) {
			scope, _, _ := unstructured.NestedString(object.Object, "spec", "scope")
			scopes[definedBy(object)] = scope == "Namespaced"
		}
	}
	return scopes
}

func isCRD(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// definedBy returns the kind that a CRD defines.
func definedBy(crd *unstructured.Unstructured) schema.GroupKind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

// podTemplate returns spec.template of a workload, or nil.
func podTemplate(object *unstructured.Unstructured) map[string]any {
	switch object.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "DaemonSet"}, schema.GroupKind{Group: "apps", Kind: "Deployment"},
		schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, schema.GroupKind{Group: "batch", Kind: "Job"}:
		spec, _ := object.Object["spec"].(map[string]any)
		template, _ := spec["template"].(map[string]any)
		return template
	}
	return nil
}

// hashOf returns a hash of an object's content. encoding/json sorts the keys.
func hashOf(object *unstructured.Unstructured) string {
	raw, _ := json.Marshal(object.Object)
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// isMarked reports whether an object has an annotation whose value is true.
func isMarked(object client.Object, annotation string) bool {
	return truthy(object.GetAnnotations()[annotation])
}

// truthy reports whether the value of an annotation is true, as Gardener parses it.
func truthy(value string) bool {
	is, err := strconv.ParseBool(value)
	return err == nil && is
}
