// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What is on managed objects.
const (
	origin      = "resources.gardener.cloud/origin"
	description = "resources.gardener.cloud/description"
	managedBy   = "resources.gardener.cloud/managed-by"
	mode        = "resources.gardener.cloud/mode"
	keepObject  = "resources.gardener.cloud/keep-object"
	references  = "reference.resources.gardener.cloud/"

	warning = "DO NOT EDIT - Gardener's resource manager keeps this object as it is.\nAnything else is set back."
)

// wanted is what the Secrets of a ManagedResource hold.
type wanted struct {
	objects  []*unstructured.Unstructured
	unknown  map[*unstructured.Unstructured]error // whose kinds the target did not have when they were read
	checksum string
	problems []error
}

func secretsOf(mr *unstructured.Unstructured) []string {
	refs, _, _ := unstructured.NestedSlice(mr.Object, "spec", "secretRefs")
	var names []string
	for _, ref := range refs {
		if ref, ok := ref.(map[string]any); ok {
			names = append(names, fmt.Sprint(ref["name"]))
		}
	}
	return names
}

// read reads the Secrets and decodes what they hold.
func (m *resourceManager) read(ctx context.Context, mr *unstructured.Unstructured) (*wanted, error) {
	w := &wanted{unknown: map[*unstructured.Unstructured]error{}}
	sum := sha256.New()
	for _, name := range secretsOf(mr) {
		secret := &corev1.Secret{}
		if err := m.live.Get(ctx, client.ObjectKey{Namespace: mr.GetNamespace(), Name: name}, secret); err != nil {
			return nil, err
		}
		for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
			objects, err := decode(secret.Data[key])
			if err != nil {
				w.problems = append(w.problems, fmt.Errorf("%s of Secret %s: %w", key, name, err))
			}
			for _, object := range objects {
				if object.GetAnnotations()[mode] == "Ignore" {
					continue
				}
				if err := m.complete(object, mr); err != nil {
					w.unknown[object] = err
				}
				w.objects = append(w.objects, object)
				sum.Write(secret.Data[key])
			}
		}
	}
	w.checksum = hex.EncodeToString(sum.Sum(nil))
	sortForApply(w.objects)
	return w, nil
}

// decode reads documents, in YAML or JSON, that "---" separates.
func decode(data []byte) (objects []*unstructured.Unstructured, err error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 1024)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return objects, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// complete gives an object its namespace and the labels that are injected. A kind
// that the target does not have is taken for one in namespaces, and is an error.
func (m *resourceManager) complete(object, mr *unstructured.Unstructured) error {
	gvk := object.GroupVersionKind()
	mapping, err := m.Target.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case err == nil && mapping.Scope.Name() == meta.RESTScopeNameRoot, gvk.Kind == "Namespace":
		object.SetNamespace("")
	case object.GetNamespace() == "":
		object.SetNamespace("default")
	}
	injected, _, _ := unstructured.NestedStringMap(mr.Object, "spec", "injectLabels")
	if injected == nil {
		injected = map[string]string{}
	}
	injected[managedBy] = "gardener"
	object.SetLabels(with(object.GetLabels(), injected))
	if _, found, _ := unstructured.NestedMap(object.Object, "spec", "template"); found {
		path := []string{"spec", "template", "metadata", "labels"}
		there, _, _ := unstructured.NestedStringMap(object.Object, path...)
		_ = unstructured.SetNestedStringMap(object.Object, with(there, injected), path...)
	}
	return err
}

func with(there, more map[string]string) map[string]string {
	all := maps.Clone(more)
	for key, value := range there {
		if _, taken := all[key]; !taken {
			all[key] = value
		}
	}
	return all
}

// order is that of the kinds which a network has; others come last.
var order = []string{
	"PriorityClass", "Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodDisruptionBudget", "ServiceAccount",
	"Secret", "ConfigMap", "StorageClass", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "Role",
	"RoleBinding", "Service", "DaemonSet", "Deployment", "HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob",
}

func sortForApply(objects []*unstructured.Unstructured) {
	rank := func(object *unstructured.Unstructured) int {
		if i := slices.Index(order, object.GetKind()); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a.GetKind()+"/"+a.GetName(), b.GetKind()+"/"+b.GetName())
	})
}
