// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/trellis-network/trellis/plugin"
)

// document is an object as it is written, whatever Go type it was made with.
type document struct {
	plugin.Object
	raw []byte // JSON, or the error of what cannot be written
	// bundle and network have the object, maybe among others.
	bundle  plugin.Bundle
	network string
}

func documentOf(object plugin.Object) document {
	return document{Object: object, raw: []byte(orError(plugin.AppendJSON(nil, object)))}
}

func documentsOf(objects plugin.Objects) []document {
	var all []document
	for _, bundle := range objects.Bundles {
		for _, object := range bundle.Objects {
			d := documentOf(object)
			d.bundle = bundle
			all = append(all, d)
		}
	}
	return all
}

func textOfObjects(objects plugin.Objects) string {
	var text strings.Builder
	for _, d := range documentsOf(objects) {
		fmt.Fprintf(&text, "%s\n%s\n", d.bundle.Name, d.raw)
	}
	return text.String()
}

// allDocuments are all different objects of networks.
func (s *suite) allDocuments() []document {
	seen := sets.New[string]()
	var all []document
	for _, n := range s.networks() {
		for _, d := range documentsOf(n.result.Objects) {
			if d.network = n.name; !seen.Has(string(d.raw)) {
				seen.Insert(string(d.raw))
				all = append(all, d)
			}
		}
	}
	return all
}

func (d document) String() string { return keyOf(d.kind().Kind, d.GetNamespace(), d.GetName()) }

func (d document) kind() schema.GroupVersionKind { return d.GetObjectKind().GroupVersionKind() }

// is reports whether the object is of one of the kinds of an API group.
func (d document) is(group string, kinds ...string) bool {
	return d.kind().Group == group && slices.Contains(kinds, d.kind().Kind)
}

func keyOf(kind, namespace, name string) string {
	if namespace == "" {
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}

// workload decodes a Deployment, StatefulSet or Job like a DaemonSet, which has all that
// is checked of them; nil for other objects.
func (d document) workload() *appsv1.DaemonSet {
	if !d.is("apps", "DaemonSet", "Deployment", "StatefulSet") && !d.is("batch", "Job") {
		return nil
	}
	w := &appsv1.DaemonSet{}
	_ = json.Unmarshal(d.raw, w) // what does not fit, the API server refuses
	return w
}

// inShoot are a network's objects of a kind in the shoot, by name.
func inShoot(n network, group, kind string) map[string]document {
	all := map[string]document{}
	for _, object := range n.result.Objects.For(plugin.Shoot) {
		if object.GetObjectKind().GroupVersionKind().GroupKind() == (schema.GroupKind{Group: group, Kind: kind}) {
			d := documentOf(object)
			all[d.String()] = d
		}
	}
	return all
}

func containers(pod *corev1.PodSpec) []corev1.Container {
	return slices.Concat(pod.InitContainers, pod.Containers)
}

// configMapsOf are the places where a pod reads a ConfigMap: the Items, or all without any.
func configMapsOf(pod *corev1.PodSpec) []corev1.ConfigMapProjection {
	var uses []corev1.ConfigMapProjection
	add := func(from corev1.LocalObjectReference, items []corev1.KeyToPath, optional *bool) {
		uses = append(uses, corev1.ConfigMapProjection{LocalObjectReference: from, Items: items, Optional: optional})
	}
	for _, volume := range pod.Volumes {
		if from := volume.ConfigMap; from != nil {
			add(from.LocalObjectReference, from.Items, from.Optional)
		}
		for _, source := range ptr.Deref(volume.Projected, corev1.ProjectedVolumeSource{}).Sources {
			if source.ConfigMap != nil {
				uses = append(uses, *source.ConfigMap)
			}
		}
	}
	for _, container := range containers(pod) {
		for _, variable := range container.Env {
			if from := ptr.Deref(variable.ValueFrom, corev1.EnvVarSource{}).ConfigMapKeyRef; from != nil {
				add(from.LocalObjectReference, []corev1.KeyToPath{{Key: from.Key}}, from.Optional)
			}
		}
		for _, source := range container.EnvFrom {
			if from := source.ConfigMapRef; from != nil {
				add(from.LocalObjectReference, nil, from.Optional)
			}
		}
	}
	return uses
}
