// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/cli/internal/text"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

const (
	// maxDiffed is the number of lines up to which objects are compared line by line.
	maxDiffed = 20_000
	// contextLines is the number of equal lines around those that differ.
	contextLines = 3
)

// located is an object and the cluster that it belongs to.
type located struct {
	cluster  string
	document map[string]any
}

// identity identifies an object across API versions.
type identity struct {
	// Cluster is shoot or seed.
	Cluster string `json:"cluster"`
	// Kind has the group, as in DaemonSet.apps.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

func (o *located) identity() identity {
	object := unstructured.Unstructured{Object: o.document}
	kind := schema.FromAPIVersionAndKind(object.GetAPIVersion(), object.GetKind()).GroupKind().String()
	return identity{o.cluster, kind, object.GetNamespace(), object.GetName()}
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
	identity
	// What is changes, comes or goes.
	What string `json:"what"`
	// Diff is the unified diff of the YAML, without headers.
	Diff string `json:"diff"`
}

// differences compares the objects of two networks. Those of the second network come
// first, in its order, then those that only the first one has.
func differences(before, after []located) []difference {
	former, kept := map[identity]map[string]any{}, map[identity]bool{}
	for i := range before {
		former[before[i].identity()] = before[i].document
	}
	var found []difference
	add := func(id identity, before, after map[string]any) {
		if one := differ(id, before, after); one.Diff != "" {
			found = append(found, one)
		}
	}
	for i := range after {
		id := after[i].identity()
		add(id, former[id], after[i].document)
		kept[id] = true
	}
	for i := range before {
		if id := before[i].identity(); !kept[id] {
			add(id, before[i].document, nil)
		}
	}
	return found
}

// differ compares two versions of an object, one of which may be nil.
func differ(id identity, before, after map[string]any) difference {
	one := difference{identity: id, What: changes}
	switch {
	case before == nil:
		one.What = comes
	case after == nil:
		one.What = goes
	}
	former, latter := stated(before), stated(after)
	if id.Kind == "Secret" {
		conceal(former, before, after, "*** (before)")
		conceal(latter, after, before, "*** (after)")
	}
	one.Diff = unified(linesOf(former), linesOf(latter))
	return one
}

// String returns the object's kind and name: DaemonSet.apps kube-system/agent.
func (d *difference) String() string {
	return d.Kind + " " + cache.NewObjectName(d.Namespace, d.Name).String()
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
	return fmt.Sprintf("--- %s\n+++ %s\n", text.OneLine(from), text.OneLine(to))
}

// volatile are the fields of the metadata that API servers and clients set.
var volatile = []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}

// stated returns a copy of an object without its status, volatile fields, and values that
// mean the same as no value.
func stated(document map[string]any) map[string]any {
	document = runtime.DeepCopyJSON(document)
	delete(document, "status")
	for _, name := range volatile {
		unstructured.RemoveNestedField(document, "metadata", name)
	}
	unstructured.RemoveNestedField(document, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
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

// conceal replaces the values in a copy of a Secret: with the mask if the other version of
// the Secret has another value, so that the diff only shows which differ.
func conceal(shown, secret, other map[string]any, mask string) {
	for _, field := range []string{"data", "stringData"} {
		values, isObject := secret[field].(map[string]any)
		others, _ := other[field].(map[string]any)
		if secret[field] != nil && !isObject {
			shown[field] = "***"
		}
		for key, value := range values {
			concealed := "***"
			if former, both := others[key]; both && !reflect.DeepEqual(former, value) {
				concealed = mask
			}
			shown[field].(map[string]any)[key] = concealed
		}
	}
}

// linesOf returns a document as lines of YAML with sorted keys, and none for nil.
func linesOf(document map[string]any) []string {
	if document == nil {
		return nil
	}
	raw, err := yaml.Marshal(document)
	if err != nil { // only for values that JSON does not have
		return []string{err.Error() + "\n"}
	}
	return slices.Collect(strings.Lines(text.Printable(string(raw))))
}

// unified returns the unified diff of lines, without file names.
func unified(before, after []string) string {
	if len(before) > maxDiffed || len(after) > maxDiffed {
		return fmt.Sprintf("@@ %d lines before, %d after: too many to compare line by line @@\n", len(before), len(after))
	}
	diff, _ := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: before, B: after, Context: contextLines}) // fails only if writing does, and this is memory
	return diff
}
