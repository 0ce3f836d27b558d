// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// located is an object and the cluster that it belongs to.
type located struct {
	cluster  string
	document map[string]any
}

// identity identifies an object across API versions.
type identity struct {
	cluster, kind, namespace, name string
}

func (o *located) identity() identity {
	object := unstructured.Unstructured{Object: o.document}
	gv, err := schema.ParseGroupVersion(object.GetAPIVersion())
	if err != nil {
		gv.Group = object.GetAPIVersion()
	}
	return identity{o.cluster, schema.GroupKind{Group: gv.Group, Kind: object.GetKind()}.String(), object.GetNamespace(), object.GetName()}
}

// locate returns all objects of a network with their clusters.
func locate(objects *plugin.Objects) ([]located, error) {
	var all []located
	for _, bundle := range objects.Bundles {
		for _, object := range bundle.Objects {
			document, err := pipeline.Document(object)
			if err != nil {
				return nil, err
			}
			all = append(all, located{string(bundle.Target), document})
		}
	}
	return all, nil
}

// What a plan does with an object.
const (
	changes = "changes"
	comes   = "comes"
	goes    = "goes"
)

// difference is an object that a plan adds, changes or deletes.
type difference struct {
	// Cluster is shoot or seed.
	Cluster string `json:"cluster"`
	// Kind has the group, as in DaemonSet.apps.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// What is changes, comes or goes.
	What string `json:"what"`
	// Diff is the unified diff of the YAML, without headers.
	Diff string `json:"diff"`
}

// differences compares the objects of two networks. Those of the second network come
// first, in its order, then those that only the first one has.
func differences(before, after []located) ([]difference, error) {
	former := make(map[identity]map[string]any, len(before))
	for i := range before {
		former[before[i].identity()] = before[i].document
	}
	var found []difference
	add := func(id identity, before, after map[string]any) error {
		one, err := differ(id, before, after)
		if one != nil {
			found = append(found, *one)
		}
		return err
	}
	for i := range after {
		id := after[i].identity()
		if err := add(id, former[id], after[i].document); err != nil {
			return nil, err
		}
		delete(former, id)
	}
	for _, id := range slices.SortedFunc(maps.Keys(former), compareIdentity) {
		if err := add(id, former[id], nil); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func compareIdentity(a, b identity) int {
	return cmp.Or(strings.Compare(b.cluster, a.cluster), strings.Compare(a.kind, b.kind),
		strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
}

// differ compares two versions of an object, one of which may be nil. It returns nil if
// they are equal.
func differ(id identity, before, after map[string]any) (*difference, error) {
	one := &difference{Cluster: id.cluster, Kind: id.kind, Namespace: id.namespace, Name: id.name, What: changes}
	switch {
	case before == nil:
		one.What = comes
	case after == nil:
		one.What = goes
	}
	before, after = stated(before), stated(after)
	if id.kind == "Secret" {
		conceal(before, after)
	}
	former, err := linesOf(before)
	if err != nil {
		return nil, fmt.Errorf("encode %s before the change: %w", one, err)
	}
	latter, err := linesOf(after)
	if err != nil {
		return nil, fmt.Errorf("encode %s after the change: %w", one, err)
	}
	if slices.Equal(former, latter) {
		return nil, nil
	}
	one.Diff = unified(former, latter)
	return one, nil
}

// String returns the object's kind and name: DaemonSet.apps kube-system/agent.
func (d *difference) String() string {
	if d.Namespace == "" {
		return d.Kind + " " + d.Name
	}
	return d.Kind + " " + d.Namespace + "/" + d.Name
}

// headers returns the two lines above the diff.
func (d *difference) headers() string {
	name := fmt.Sprintf("%s (%s)", d, d.Cluster)
	from, to := "before: "+name, "after: "+name
	switch d.What {
	case comes:
		from = "/dev/null"
	case goes:
		to = "/dev/null"
	}
	return fmt.Sprintf("--- %s\n+++ %s\n", oneLine(from), oneLine(to))
}

// volatile are the fields of the metadata that API servers and clients set.
var volatile = []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}

// lastApplied is the annotation with kubectl's copy of the object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// stated returns a copy of an object without its status, volatile fields, and values
// that mean the same as no value.
func stated(document map[string]any) map[string]any {
	if document == nil {
		return nil
	}
	document = runtime.DeepCopyJSON(document)
	delete(document, "status")
	for _, name := range volatile {
		unstructured.RemoveNestedField(document, "metadata", name)
	}
	unstructured.RemoveNestedField(document, "metadata", "annotations", lastApplied)
	withoutEmpty(document)
	return document
}

// unstated are fields that Go's types encode as an empty object when they are not set.
// An empty object in another field may have a meaning, as in emptyDir or podSelector.
var unstated = map[string]bool{
	"metadata": true, "annotations": true, "labels": true,
	"resources": true, "strategy": true, "updateStrategy": true,
}

// withoutEmpty removes null and unstated fields, at any depth.
func withoutEmpty(value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			withoutEmpty(inner)
			empty, isObject := inner.(map[string]any)
			if inner == nil || isObject && len(empty) == 0 && unstated[name] {
				delete(v, name)
			}
		}
	case []any:
		for _, inner := range v {
			withoutEmpty(inner)
		}
	}
}

// conceal replaces the values of a Secret, so that the diff only shows which differ.
func conceal(before, after map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		former, latter := valuesIn(before, field), valuesIn(after, field)
		for key, value := range former {
			other, both := latter[key]
			switch {
			case both && fmt.Sprint(value) != fmt.Sprint(other):
				former[key], latter[key] = "*** (before)", "*** (after)"
			case both:
				former[key], latter[key] = "***", "***"
			default:
				former[key] = "***"
			}
		}
		for key := range latter {
			if _, both := former[key]; !both {
				latter[key] = "***"
			}
		}
	}
}

// valuesIn returns the values in a field of a Secret. It conceals a field of another type.
func valuesIn(document map[string]any, field string) map[string]any {
	values, isObject := document[field].(map[string]any)
	if !isObject && document[field] != nil {
		document[field] = "***"
	}
	return values
}

// linesOf returns a document as lines of YAML with sorted keys, and none for nil.
func linesOf(document map[string]any) ([]string, error) {
	if document == nil {
		return nil, nil
	}
	text, err := yaml.Marshal(document)
	if err != nil {
		return nil, err
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		lines = append(lines, printable(line))
	}
	return lines, nil
}
