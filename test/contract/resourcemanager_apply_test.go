// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// apply creates an object, or PUTs what it becomes when it is merged into the live
// one. It does so each time, as where Gardener runs it.
func (m *resourceManager) apply(ctx context.Context, wanted, mr *unstructured.Unstructured, old []reference) error {
	if err := m.refused(); err != nil {
		return err
	}
	object := wanted.DeepCopy()
	object.SetAnnotations(with(object.GetAnnotations(), map[string]string{
		origin: mr.GetNamespace() + "/" + mr.GetName(), description: warning,
	}))
	live := object.DeepCopy()
	err := m.Target.Get(ctx, client.ObjectKeyFromObject(object), live)
	if apierrors.IsNotFound(err) {
		return m.Target.Create(ctx, object, client.FieldOwner(resourceManagerName))
	}
	if err != nil {
		return err
	}
	var before reference
	for _, each := range old {
		if each.id() == referenceTo(object).id() {
			before = each
		}
	}
	err = m.Target.Update(ctx, merge(object, live, before), client.FieldOwner(resourceManagerName))
	if apierrors.IsInvalid(err) && (is(wanted, "delete-on-invalid-update") || isImmutable(live)) {
		return errors.Join(err, m.Target.Delete(ctx, live, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	}
	return err
}

// isImmutable reports whether it is a ConfigMap or Secret that cannot be changed.
func isImmutable(object *unstructured.Unstructured) bool {
	immutable, _, _ := unstructured.NestedBool(object.Object, "immutable")
	return immutable && (object.GetKind() == "ConfigMap" || object.GetKind() == "Secret")
}

// merge returns what is PUT: the wanted object with what of the live one stays.
func merge(wanted, live *unstructured.Unstructured, before reference) *unstructured.Unstructured {
	merged := wanted.DeepCopy()
	annotations := live.GetAnnotations()
	for key := range annotations {
		if strings.HasPrefix(key, references) {
			delete(annotations, key)
		}
	}
	metadata, _, _ := unstructured.NestedMap(live.Object, "metadata")
	delete(metadata, "ownerReferences")
	merged.Object["metadata"] = metadata
	merged.SetOwnerReferences(wanted.GetOwnerReferences())
	merged.SetLabels(threeWay(wanted.GetLabels(), before.Labels, live.GetLabels()))
	merged.SetAnnotations(threeWay(wanted.GetAnnotations(), before.Annotations, annotations))
	keep := func(path ...string) {
		if value, found, _ := unstructured.NestedFieldCopy(live.Object, path...); found {
			_ = unstructured.SetNestedField(merged.Object, value, path...)
		}
	}
	keep("status")
	switch merged.GetKind() {
	case "Deployment", "StatefulSet":
		if _, stated, _ := unstructured.NestedFieldNoCopy(wanted.Object, "spec", "replicas"); !stated || is(wanted, "preserve-replicas") {
			keep("spec", "replicas")
		}
		keepOfTemplate(merged, live)
	case "DaemonSet":
		keepOfTemplate(merged, live)
	case "Job":
		keep("spec", "selector")
		for _, label := range []string{"controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"} {
			keep("spec", "template", "metadata", "labels", label)
		}
	case "Service":
		if address, _, _ := unstructured.NestedString(wanted.Object, "spec", "clusterIP"); address != "None" {
			keep("spec", "clusterIP")
		}
	case "ServiceAccount":
		keep("secrets")
		keep("imagePullSecrets")
	}
	return merged
}

// threeWay merges labels or annotations: what was wanted, is not any more and has
// not changed goes; what others have added stays.
func threeWay(wanted, before, live map[string]string) map[string]string {
	merged := map[string]string{}
	for key, value := range live {
		if was, ours := before[key]; !ours || was != value {
			merged[key] = value
		}
	}
	for key, value := range wanted {
		merged[key] = value
	}
	return merged
}

func is(object *unstructured.Unstructured, annotation string) bool {
	return object.GetAnnotations()["resources.gardener.cloud/"+annotation] == "true"
}

// keepOfTemplate keeps in a pod template what belongs to others: the time of a
// restart and, where that is asked for, CPU and memory.
func keepOfTemplate(merged, live *unstructured.Unstructured) {
	restarted := []string{"spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt"}
	if value, found, _ := unstructured.NestedString(live.Object, restarted...); found {
		_ = unstructured.SetNestedField(merged.Object, value, restarted...)
	}
	if !is(merged, "preserve-resources") {
		return
	}
	for _, list := range []string{"initContainers", "containers"} {
		path := []string{"spec", "template", "spec", list}
		containers, _, _ := unstructured.NestedSlice(merged.Object, path...)
		there, _, _ := unstructured.NestedSlice(live.Object, path...)
		for _, container := range containers {
			for _, other := range there {
				keepResources(container.(map[string]any), other.(map[string]any))
			}
		}
		if len(containers) > 0 {
			_ = unstructured.SetNestedSlice(merged.Object, containers, path...)
		}
	}
}

func keepResources(container, live map[string]any) {
	if container["name"] != live["name"] {
		return
	}
	for _, part := range []string{"requests", "limits"} {
		for _, name := range []string{"cpu", "memory"} {
			if value, found, _ := unstructured.NestedFieldCopy(live, "resources", part, name); found {
				_ = unstructured.SetNestedField(container, value, "resources", part, name)
			}
		}
	}
}
