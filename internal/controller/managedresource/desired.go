// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
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
	// hash of object, and of the settings that decide on others' fields.
	hash string
	// createOnly reports whether the object is left alone once it exists (R8).
	createOnly bool
}

// desired is what a ManagedResource desires in its shoot.
type desired struct {
	// items in the order in which they are applied.
	items []*item
	// inventory refers to the items, sorted as in the status.
	inventory []reference
	// released are objects that are left to others (R7).
	released []reference
	// leftOut are objects of optional kinds that the shoot lacks.
	leftOut []*item
	// checksum of the Secrets' content.
	checksum string
	// problems are what keeps documents from being applied, as sentences.
	problems []string
}

// composer makes the desired objects of the content of Secrets.
type composer struct {
	mr      *resourcesv1alpha1.ManagedResource
	options *Options
	kinds   kinds
	// scopes are the kinds that CRDs among the documents define, and whether their objects
	// are in namespaces.
	scopes map[schema.GroupKind]bool
	// served reports which of the optional kinds the shoot has.
	served map[schema.GroupVersionKind]bool
}

// compose gives every document its namespace, labels and annotations. An error
// means that the shoot could not be asked about a kind.
func (c *composer) compose(ctx context.Context, content *content) (*desired, error) {
	d := &desired{problems: content.problems}
	sum := sha256.New()
	seen := map[identity]bool{}
	c.scopes, c.served = scopesOf(content.documents), map[schema.GroupVersionKind]bool{}
	for _, doc := range content.documents {
		if err := c.setNamespace(doc.Object); err != nil {
			return nil, err
		}
		id := identityOfObject(doc.Object)
		absent, err := c.isLeftOut(ctx, doc.Object)
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
		case doc.Object.GetAnnotations()[resourcesv1alpha1.Mode] == resourcesv1alpha1.ModeIgnore:
			d.released = append(d.released, newReference(doc.Object))
		case absent:
			d.leftOut = append(d.leftOut, c.item(id, doc.Object))
		default:
			d.items = append(d.items, c.item(id, doc.Object))
			sum.Write(doc.Raw)
		}
		seen[id] = true
	}
	sortForApply(d.items)
	for _, each := range d.items {
		d.inventory = append(d.inventory, each.ref)
	}
	sortInventory(d.inventory)
	d.checksum = hex.EncodeToString(sum.Sum(nil))
	return d, nil
}

// isLeftOut reports whether an object is of an optional kind that the shoot lacks. The
// kind is optional if the object is marked so or the target is shared. Kinds of
// Kubernetes' own are always there.
func (c *composer) isLeftOut(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	kind := object.GroupVersionKind()
	optional := c.options.Confined || truthy(object.GetAnnotations()[resourcesv1alpha1.OptionalKind])
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
	i := &item{id: id, object: object, createOnly: truthy(object.GetAnnotations()[resourcesv1alpha1.Ignore])}
	unstructured.RemoveNestedField(object.Object, "status")
	for _, field := range []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	labels := map[string]string{}
	if !i.createOnly {
		maps.Copy(labels, c.mr.Spec.InjectLabels)
	}
	labels[resourcesv1alpha1.ManagedBy] = c.options.ManagedBy
	object.SetLabels(merged(object.GetLabels(), labels))
	addToTemplates(object, labels)
	i.ref = newReference(object)
	if !i.createOnly {
		object.SetAnnotations(merged(object.GetAnnotations(), map[string]string{
			resourcesv1alpha1.Origin:      client.ObjectKeyFromObject(c.mr).String(),
			resourcesv1alpha1.Description: description,
		}))
	}
	i.hash = fmt.Sprint(hashOf(object), ptr.Deref(c.mr.Spec.ForceOverwriteLabels, false), ptr.Deref(c.mr.Spec.ForceOverwriteAnnotations, false))
	return i
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

func scopesOf(documents []bundle.Document) map[schema.GroupKind]bool {
	scopes := map[schema.GroupKind]bool{}
	for _, doc := range documents {
		if isCRD(doc.Object.GroupVersionKind().GroupKind()) {
			scope, _, _ := unstructured.NestedString(doc.Object.Object, "spec", "scope")
			scopes[definedBy(doc.Object)] = scope == "Namespaced"
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

// addToTemplates adds labels to the templates of a workload's pods and claims.
func addToTemplates(object *unstructured.Unstructured, labels map[string]string) {
	template := podTemplate(object)
	if template == nil {
		return
	}
	spec := object.Object["spec"].(map[string]any)
	claims, _ := spec["volumeClaimTemplates"].([]any)
	for _, each := range append([]any{template}, claims...) {
		if each, ok := each.(map[string]any); ok {
			each := unstructured.Unstructured{Object: each}
			unstructured.RemoveNestedField(each.Object, "metadata", "creationTimestamp")
			each.SetLabels(merged(each.GetLabels(), labels))
		}
	}
}

// podTemplate returns spec.template of a workload, or nil.
func podTemplate(object *unstructured.Unstructured) map[string]any {
	switch object.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "DaemonSet"}, schema.GroupKind{Group: "apps", Kind: "Deployment"},
		schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"},
		schema.GroupKind{Kind: "ReplicationController"}, schema.GroupKind{Group: "batch", Kind: "Job"}:
		spec, _ := object.Object["spec"].(map[string]any)
		template, _ := spec["template"].(map[string]any)
		return template
	}
	return nil
}

func merged(a, b map[string]string) map[string]string {
	all := make(map[string]string, len(a)+len(b))
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// hashOf tells one content of an object from all others; encoding/json sorts
// the keys.
func hashOf(object *unstructured.Unstructured) string {
	raw, _ := json.Marshal(object.Object)
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// truthy reports whether the value of an annotation is true, as Gardener parses it.
func truthy(value string) bool {
	is, err := strconv.ParseBool(value)
	return err == nil && is
}
