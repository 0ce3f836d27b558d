// SPDX-License-Identifier: Apache-2.0

package garbagecollector

import (
	"context"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// referring are the kinds whose annotations refer to collectable objects in their
// namespace.
var referring = []schema.GroupVersionKind{
	appsv1.SchemeGroupVersion.WithKind("Deployment"),
	appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
	appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
	batchv1.SchemeGroupVersion.WithKind("Job"),
	batchv1.SchemeGroupVersion.WithKind("CronJob"),
	corev1.SchemeGroupVersion.WithKind("Pod"),
	resourcesv1alpha1.GroupVersion.WithKind("ManagedResource"),
	{Group: "monitoring.coreos.com", Version: "v1", Kind: "Prometheus"},
}

// reference names a collectable object.
type reference struct{ kind, namespace, name string }

// references are the objects that are referred to.
type references map[reference]bool

func referenceTo(object *metav1.PartialObjectMetadata) reference {
	return reference{object.Kind, object.Namespace, object.Name}
}

// note takes down what the annotations of an object refer to.
func (r references) note(object metav1.Object) {
	for key, name := range object.GetAnnotations() {
		switch {
		case strings.HasPrefix(key, resourcesv1alpha1.ReferenceSecret):
			r[reference{"Secret", object.GetNamespace(), name}] = true
		case strings.HasPrefix(key, resourcesv1alpha1.ReferenceConfigMap):
			r[reference{"ConfigMap", object.GetNamespace(), name}] = true
		}
	}
}

// referencesTo finds all references in the namespaces of some objects. It fails
// rather than to miss one.
func (t *target) referencesTo(ctx context.Context, objects []metav1.PartialObjectMetadata) (references, error) {
	found, seen := references{}, map[string]bool{}
	for i := range objects {
		namespace := objects[i].Namespace
		if seen[namespace] {
			continue
		}
		seen[namespace] = true
		for _, kind := range referring {
			err := t.list(ctx, kind, namespace, func(object *metav1.PartialObjectMetadata) { found.note(object) })
			if err != nil {
				return nil, err
			}
		}
	}
	if t.references != nil {
		return found, t.references(ctx, t, found)
	}
	return found, nil
}

// referencesInSeed adds what only a control-plane namespace has: the Secrets that
// a ManagedResource consists of, though its author may have forgotten the
// annotation, and the kubeconfig that the Cluster names.
func referencesInSeed(ctx context.Context, t *target, found references) error {
	list := &resourcesv1alpha1.ManagedResourceList{}
	if err := t.live.List(ctx, list, client.InNamespace(t.scope)); err != nil {
		return err
	}
	for i := range list.Items {
		for _, ref := range list.Items[i].Spec.SecretRefs {
			found[reference{"Secret", t.scope, ref.Name}] = true
		}
	}
	cluster := &extensionsv1alpha1.Cluster{}
	if err := t.live.Get(ctx, client.ObjectKey{Name: t.scope}, cluster); client.IgnoreNotFound(err) != nil {
		return err
	}
	found[reference{"Secret", t.scope, cluster.Annotations[resourcesv1alpha1.GenericKubeconfigName]}] = true
	return nil
}
