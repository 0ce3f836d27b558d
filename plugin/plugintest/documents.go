// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/trellis-network/trellis/plugin"
)

// document is an object as it is written, whatever Go type it was made with.
type document struct {
	raw             string
	kind            schema.GroupVersionKind
	namespace, name string
	annotations     map[string]string
	// awaited reports that the Network's success waits for the object.
	awaited bool
	// network is one that has the object.
	network string
}

func (d document) String() string { return keyOf(d.kind.Kind, d.namespace, d.name) }

// is reports whether the object is of one of the kinds of an API group.
func (d document) is(group string, kinds ...string) bool {
	return d.kind.Group == group && slices.Contains(kinds, d.kind.Kind)
}

func keyOf(kind, namespace, name string) string {
	if namespace == "" {
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}

func nameOf(object plugin.Object) string {
	return keyOf(object.GetObjectKind().GroupVersionKind().Kind, object.GetNamespace(), object.GetName())
}

// documentsOf are all different objects of networks.
func documentsOf(networks []network) []document {
	seen := sets.New[string]()
	var all []document
	for _, n := range networks {
		if !n.renders() {
			continue
		}
		for _, bundle := range n.result.Objects.Bundles {
			for _, object := range bundle.Objects {
				d := documentOf(object)
				d.awaited, d.network = bundle.Await, n.name
				if !seen.Has(d.raw) {
					seen.Insert(d.raw)
					all = append(all, d)
				}
			}
		}
	}
	return all
}

// documentOf writes an object. The pipeline refuses what cannot be written.
func documentOf(object plugin.Object) document {
	raw, err := plugin.AppendJSON(nil, object)
	if err != nil {
		raw = []byte("{}")
	}
	return document{
		raw: string(raw), kind: object.GetObjectKind().GroupVersionKind(), namespace: object.GetNamespace(), name: object.GetName(),
		annotations: object.GetAnnotations(),
	}
}

// workload decodes a Deployment, StatefulSet or Job like a DaemonSet, which has all that
// is checked of them; nil for other objects.
func (s *suite) workload(d document) *appsv1.DaemonSet {
	if !d.is("apps", "DaemonSet", "Deployment", "StatefulSet") && !d.is("batch", "Job") {
		return nil
	}
	if w, known := s.parsed[d.raw]; known {
		return w
	}
	w := &appsv1.DaemonSet{}
	if json.Unmarshal([]byte(d.raw), w) != nil {
		w = nil
	}
	s.parsed[d.raw] = w
	return w
}

// agents are the DaemonSets among objects, by name.
func (s *suite) agents(objects []plugin.Object) map[string]*appsv1.DaemonSet {
	agents := map[string]*appsv1.DaemonSet{}
	for _, object := range objects {
		if object.GetObjectKind().GroupVersionKind().Kind == "DaemonSet" {
			if w := s.workload(documentOf(object)); w != nil {
				agents[nameOf(object)] = w
			}
		}
	}
	return agents
}

// containers are all that a pod has.
func containers(pod *corev1.PodSpec) []corev1.Container {
	return slices.Concat(pod.InitContainers, pod.Containers)
}

// referencesIn are the names of what must be there for pods to start and rights to count.
func (s *suite) referencesIn(object plugin.Object) []string {
	switch object.GetObjectKind().GroupVersionKind().Kind {
	case "DaemonSet", "Deployment", "StatefulSet", "Job":
		d := documentOf(object)
		if w := s.workload(d); w != nil {
			return podReferences(d.namespace, &w.Spec.Template.Spec)
		}
	case "RoleBinding", "ClusterRoleBinding":
		return bindingReferences(documentOf(object))
	}
	return nil
}

// podReferences are a pod's identity and the ConfigMaps that it cannot start without. It
// leaves out Secrets, since a controller in the cluster may make them.
func podReferences(namespace string, pod *corev1.PodSpec) []string {
	var all []string
	if name := pod.ServiceAccountName; name != "" && name != "default" {
		all = append(all, keyOf(rbacv1.ServiceAccountKind, namespace, name))
	}
	for _, use := range configMapsOf(pod) {
		if isFromCluster := use.name == "kube-root-ca.crt"; !use.optional && !isFromCluster {
			all = append(all, keyOf("ConfigMap", namespace, use.name))
		}
	}
	return all
}

// configMapUse is a place where a pod reads a ConfigMap: some keys, or all if there are
// none.
type configMapUse struct {
	name     string
	keys     []string
	optional bool
}

func configMapsOf(pod *corev1.PodSpec) []configMapUse {
	var uses []configMapUse
	add := func(name string, optional *bool, keys ...string) {
		uses = append(uses, configMapUse{name, keys, optional != nil && *optional})
	}
	for _, volume := range pod.Volumes {
		if source := volume.ConfigMap; source != nil {
			add(source.Name, source.Optional, keysOf(source.Items)...)
		}
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.ConfigMap != nil {
				add(source.ConfigMap.Name, source.ConfigMap.Optional, keysOf(source.ConfigMap.Items)...)
			}
		}
	}
	for _, container := range containers(pod) {
		for _, variable := range container.Env {
			if from := variable.ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
				add(from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Optional, from.ConfigMapKeyRef.Key)
			}
		}
		for _, from := range container.EnvFrom {
			if from.ConfigMapRef != nil {
				add(from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
			}
		}
	}
	return uses
}

func keysOf(items []corev1.KeyToPath) []string {
	var keys []string
	for _, item := range items {
		keys = append(keys, item.Key)
	}
	return keys
}
