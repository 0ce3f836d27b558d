// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
)

// description is what people find on the objects.
const description = `DO NOT EDIT - This object is managed by Trellis.
Any change to it is reverted.`

// item is one object that is wanted in the shoot.
type item struct {
	id  identity
	ref reference
	// object is what is applied; nil in an item that is only remembered.
	object *unstructured.Unstructured
	// hash of object, and of what else decides what is right for it.
	hash string
	// createOnly says that the object is left alone once it exists.
	createOnly bool
}

// desired is what a ManagedResource wants in its shoot.
type desired struct {
	// items in the order in which they are applied.
	items []*item
	// inventory refers to the items, sorted as in the status.
	inventory []reference
	// released are objects that are to be left to others.
	released []identity
	// leftOut are objects of kinds that the shoot lacks and that it may lack.
	leftOut []*item
	// checksum of the Secrets' content.
	checksum string
	// problems say what could not be decoded.
	problems []string
}

// composer makes a desired of the content of Secrets.
type composer struct {
	mr      *resourcesv1alpha1.ManagedResource
	options *Options
	// namespaced says whether the objects of a kind are in namespaces.
	namespaced func(kind schema.GroupVersionKind) (bool, error)
	// served says whether the shoot has a kind. It is asked about kinds only that
	// may be absent.
	served func(kind schema.GroupVersionKind) (bool, error)
}

// compose gives every document its namespace, labels and annotations. An error
// means that the shoot could not be asked about a kind.
func (c *composer) compose(documents []bundle.Document, problems []string) (*desired, error) {
	d := &desired{problems: problems}
	sum := sha256.New()
	seen := map[identity]bool{}
	scopes := scopesOf(documents)
	for _, doc := range documents {
		if err := c.settleNamespace(doc.Object, scopes); err != nil {
			return nil, err
		}
		id := identityOfObject(doc.Object)
		absent, err := c.mayBeLeftOut(doc.Object, scopes)
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
			d.released = append(d.released, id)
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

// mayBeLeftOut says whether an object is of a kind that the shoot lacks, and may
// lack: because the object is marked so, or because the target is shared. Kinds of
// Kubernetes' own are always there.
func (c *composer) mayBeLeftOut(object *unstructured.Unstructured, scopes map[schema.GroupKind]bool) (bool, error) {
	kind := object.GroupVersionKind()
	marked := truthy(object.GetAnnotations()[resourcesv1alpha1.OptionalKind])
	if _, brought := scopes[kind.GroupKind()]; brought || !marked && !c.options.Confined || clientgoscheme.Scheme.Recognizes(kind) {
		return false, nil
	}
	served, err := c.served(kind)
	return !served, err
}

func (c *composer) item(id identity, object *unstructured.Unstructured) *item {
	i := &item{id: id, object: object, createOnly: truthy(object.GetAnnotations()[resourcesv1alpha1.Ignore])}
	for _, path := range [][]string{
		{"status"}, {"metadata", "managedFields"}, {"metadata", "resourceVersion"}, {"metadata", "uid"},
		{"metadata", "generation"}, {"metadata", "creationTimestamp"}, {"metadata", "selfLink"},
	} {
		unstructured.RemoveNestedField(object.Object, path...)
	}
	annotations := object.GetAnnotations()
	labels := map[string]string{}
	if !i.createOnly {
		maps.Copy(labels, c.mr.Spec.InjectLabels)
	}
	labels[resourcesv1alpha1.ManagedBy] = c.options.ManagedBy
	object.SetLabels(merged(object.GetLabels(), labels))
	injectIntoTemplates(object, labels)
	i.ref = newReference(object.GroupVersionKind(), id.NamespacedName, object.GetLabels(), annotations)
	if !i.createOnly {
		object.SetAnnotations(merged(annotations, map[string]string{
			resourcesv1alpha1.Origin:      c.options.origin(c.mr),
			resourcesv1alpha1.Description: description,
		}))
	}
	i.hash = fmt.Sprint(hashOf(object), ptr.Deref(c.mr.Spec.ForceOverwriteLabels, false), ptr.Deref(c.mr.Spec.ForceOverwriteAnnotations, false))
	return i
}

// settleNamespace gives an object of a namespaced kind the namespace "default"
// if it has none, and takes it from an object of a cluster-scoped kind. CRDs in
// the same ManagedResource are asked first: before they are applied nobody else
// knows.
func (c *composer) settleNamespace(object *unstructured.Unstructured, scopes map[schema.GroupKind]bool) error {
	kind := object.GroupVersionKind()
	namespaced, known := scopes[kind.GroupKind()]
	if !known {
		var err error
		if namespaced, err = c.namespaced(kind); err != nil {
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

// scopesOf returns, for the kinds that CRDs among the documents define, whether
// their objects are in namespaces.
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

// injectIntoTemplates adds labels to what a workload makes pods and claims of.
func injectIntoTemplates(object *unstructured.Unstructured, labels map[string]string) {
	if template := podTemplate(object); template != nil {
		addLabels(template, labels)
	}
	if object.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "apps", Kind: "StatefulSet"}) {
		return
	}
	spec, _ := object.Object["spec"].(map[string]any)
	claims, _ := spec["volumeClaimTemplates"].([]any)
	for _, claim := range claims {
		if claim, ok := claim.(map[string]any); ok {
			addLabels(claim, labels)
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

func addLabels(object map[string]any, labels map[string]string) {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}
	delete(metadata, "creationTimestamp")
	present, ok := metadata["labels"].(map[string]any)
	if !ok {
		present = map[string]any{}
		metadata["labels"] = present
	}
	for key, value := range labels {
		present[key] = value
	}
}

func identityOfObject(object *unstructured.Unstructured) identity {
	return identity{
		object.GroupVersionKind().GroupKind(),
		types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()},
	}
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

func truthy(value string) bool {
	is, err := strconv.ParseBool(value)
	return err == nil && is
}
