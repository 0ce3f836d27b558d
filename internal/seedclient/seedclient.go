// SPDX-License-Identifier: Apache-2.0

// Package seedclient has the settings of a client for the seed, and what several
// controllers read with it.
package seedclient

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// Scheme returns a scheme with all kinds of the seed that Trellis reads or writes.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme,
		corev1beta1.AddToScheme, extensionsv1alpha1.AddToScheme, resourcesv1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(scheme)) // fails only if two kinds have one name
	}
	return scheme
}

// Options make a manager's client read from its cache, except for Secrets and ConfigMaps:
// they are many, large, and rarely needed. Their metadata is cached. Nor are Deployments and
// webhook configurations cached, of which the operator reads those with certain names.
func Options() client.Options {
	return client.Options{Cache: &client.CacheOptions{
		DisableFor: []client.Object{
			&corev1.Secret{}, &corev1.ConfigMap{}, &appsv1.Deployment{}, &admissionregistrationv1.MutatingWebhookConfiguration{},
		},
	}}
}

// maxAnnotation is how many bytes an annotation has that Trellis reads, and maxSecret how many the
// metadata of a Secret has.
const maxAnnotation, maxSecret = 1 << 10, 4 << 10

// CacheOptions keep out of a manager's cache what no controller reads: managedFields, and
// copies of whole objects in annotations. A user who applies a kubeconfig with kubectl leaves
// such a copy on the Secret. Users can give Secrets a megabyte of labels or finalizers as well:
// of one whose metadata is that large, the cache has no more than what identifies it. Of the seed and
// the cloud profile in a Cluster, which are many times as large as its Shoot, it has an outline.
func CacheOptions() cache.Options {
	return cache.Options{DefaultTransform: func(in any) (any, error) {
		if object, err := meta.Accessor(in); err == nil {
			object.SetManagedFields(nil)
			maps.DeleteFunc(object.GetAnnotations(), func(key, value string) bool {
				return key == corev1.LastAppliedConfigAnnotation || len(value) > maxAnnotation
			})
		}
		if o, ok := in.(*metav1.PartialObjectMetadata); ok && o.Kind == "Secret" && o.Size() > maxSecret {
			o.Labels, o.Annotations, o.Finalizers, o.OwnerReferences = nil, nil, nil, nil
		}
		if cluster, ok := in.(*extensionsv1alpha1.Cluster); ok {
			outline(&cluster.Spec.CloudProfile)
			if cluster.Spec.Seed != nil {
				outline(cluster.Spec.Seed)
			}
		}
		return in, nil
	}}
}

// outline removes from an object what nothing reads, and leaves which fields it has: a Cluster that
// the shoot controller has written can still be compared with what it is to have.
func outline(of *runtime.RawExtension) {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(of.Raw, &fields) != nil {
		return
	}
	for name := range fields {
		if name != "apiVersion" && name != "kind" && name != "metadata" {
			fields[name] = json.RawMessage(`{}`)
		}
	}
	if raw, err := json.Marshal(fields); err == nil {
		of.Raw = raw
	}
}

// IsHibernated reports whether the user wants the shoot with its control plane in a namespace
// to be hibernated, as its Cluster states. Without a Cluster it is not.
func IsHibernated(ctx context.Context, seed client.Reader, namespace string) (bool, error) {
	cluster := &extensionsv1alpha1.Cluster{}
	if err := seed.Get(ctx, client.ObjectKey{Name: namespace}, cluster); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	shoot := &corev1beta1.Shoot{}
	if err := json.Unmarshal(cluster.Spec.Shoot.Raw, shoot); err != nil {
		return false, fmt.Errorf("decode the Shoot in the Cluster %s: %w", namespace, err)
	}
	return shoot.IsHibernated(), nil
}
