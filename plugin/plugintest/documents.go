// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trellis-network/trellis/plugin"
)

// group says where an object goes, and when.
type group int

const (
	inShoot group = iota
	inShootLater
	inShootAdmission
	inSeed
)

// groupsOf are the groups of objects, by the numbers above.
func groupsOf(objects plugin.Objects) [][]plugin.Object {
	groups := make([][]plugin.Object, inSeed+1)
	for _, bundle := range objects.Bundles {
		g := inShootLater
		switch {
		case bundle.Target == plugin.Seed:
			g = inSeed
		case bundle.Await:
			g = inShoot
		case bundle.FollowsWebhook:
			g = inShootAdmission
		}
		groups[g] = append(groups[g], bundle.Objects...)
	}
	return groups
}

// shootGroups are those of them that go into the shoot.
func shootGroups(objects plugin.Objects) [][]plugin.Object { return groupsOf(objects)[:inSeed] }

// awaited are the objects that a Network's success waits for.
func awaited(objects plugin.Objects) []plugin.Object { return groupsOf(objects)[inShoot] }

// document is an object as it is written, whatever Go type it was made with.
type document struct {
	raw             string
	kind            schema.GroupVersionKind
	namespace, name string
	annotations     map[string]string
	group           group
	// network is one that has the object.
	network string
}

func (d document) String() string { return keyOf(d.kind.Kind, d.namespace, d.name) }

// is reports whether the object is of one of the kinds, which all groups of Kubernetes
// itself have only once.
func (d document) is(group string, kinds ...string) bool {
	return d.kind.Group == group && slices.Contains(kinds, d.kind.Kind)
}

// documentsOfAll are all different objects of all networks.
func (s *suite) documentsOfAll() []document {
	seen := map[string]bool{}
	var all []document
	for _, n := range s.networks() {
		if !n.renders() {
			continue
		}
		for i, objects := range groupsOf(n.result.Objects) {
			for _, object := range objects {
				d := documentOf(object, group(i), n.name)
				if !seen[d.raw] {
					seen[d.raw] = true
					all = append(all, d)
				}
			}
		}
	}
	return all
}

// documentOf writes an object. What cannot be written is not a document of this
// package's, but of the pipeline's, which refuses it.
func documentOf(object plugin.Object, in group, network string) document {
	raw, err := plugin.AppendJSON(nil, object)
	if err != nil {
		raw = []byte("{}")
	}
	return document{
		raw: string(raw), kind: object.GetObjectKind().GroupVersionKind(), namespace: object.GetNamespace(), name: object.GetName(),
		annotations: object.GetAnnotations(), group: in, network: network,
	}
}

// workload is what workloads of all kinds have in common, and how those of DaemonSets
// are replaced.
type workload struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		UpdateStrategy appsv1.DaemonSetUpdateStrategy `json:"updateStrategy"`
		Template       corev1.PodTemplateSpec         `json:"template"`
	} `json:"spec"`
}

// workload returns the pods' side of a DaemonSet, Deployment, StatefulSet or Job.
func (d document) workload() (*workload, bool) {
	if !d.is("apps", "DaemonSet", "Deployment", "StatefulSet") && !d.is("batch", "Job") {
		return nil, false
	}
	w := &workload{}
	return w, json.Unmarshal([]byte(d.raw), w) == nil
}

// containers are all that a pod has.
func containers(pod *corev1.PodSpec) []corev1.Container {
	return slices.Concat(pod.InitContainers, pod.Containers)
}

// reference is a name of something in something else.
type reference struct{ from, to string }

// referencesOf are all that must be there for pods to start and rights to count.
func referencesOf(objects plugin.Objects) []reference {
	var all []reference
	for i, list := range shootGroups(objects) {
		for _, object := range list {
			switch object.GetObjectKind().GroupVersionKind().Kind {
			case "DaemonSet", "Deployment", "StatefulSet", "Job":
				d := documentOf(object, group(i), "")
				if w, ok := d.workload(); ok {
					all = append(all, podReferences(d, &w.Spec.Template.Spec)...)
				}
			case "RoleBinding", "ClusterRoleBinding":
				all = append(all, bindingReferences(documentOf(object, group(i), ""))...)
			}
		}
	}
	return all
}

// podReferences are a pod's identity and the ConfigMaps that it cannot start without. It
// leaves out Secrets, since a controller in the cluster may make them.
func podReferences(d document, pod *corev1.PodSpec) []reference {
	var all []reference
	if name := pod.ServiceAccountName; name != "" && name != "default" {
		all = append(all, reference{d.String(), keyOf("ServiceAccount", d.namespace, name)})
	}
	for _, use := range configMapsOf(pod) {
		if isFromCluster := use.name == "kube-root-ca.crt"; !use.optional && !isFromCluster {
			all = append(all, reference{d.String(), keyOf("ConfigMap", d.namespace, use.name)})
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
	add := func(name string, optional *bool, keys []string) {
		uses = append(uses, configMapUse{name, keys, optional != nil && *optional})
	}
	for _, volume := range pod.Volumes {
		if source := volume.ConfigMap; source != nil {
			add(source.Name, source.Optional, keysOf(source.Items))
		}
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.ConfigMap != nil {
				add(source.ConfigMap.Name, source.ConfigMap.Optional, keysOf(source.ConfigMap.Items))
			}
		}
	}
	for _, container := range containers(pod) {
		for _, variable := range container.Env {
			if from := variable.ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
				add(from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Optional, []string{from.ConfigMapKeyRef.Key})
			}
		}
		for _, from := range container.EnvFrom {
			if from.ConfigMapRef != nil {
				add(from.ConfigMapRef.Name, from.ConfigMapRef.Optional, nil)
			}
		}
	}
	return uses
}
