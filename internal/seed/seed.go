// SPDX-License-Identifier: Apache-2.0

// Package seed is how Trellis sees the seed: the kinds that it meets there, what they
// tell of a Network, what of it is cached, and what that costs.
//
// It refuses to know what is done about any of it.
package seed

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// Scheme has all kinds that the controllers meet.
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

// ClientOptions make a manager's client read from its cache, but for Secrets and
// ConfigMaps: they are many, large, and rarely needed. Their metadata is cached.
func ClientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{
		DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}},
	}}
}

// IsStale says that a write was refused only because it was decided upon from a
// cache which is late: of an object, or of the end of its namespace. It is worth
// another try, and nothing to tell anybody.
func IsStale(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) ||
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// RequestsNamed makes requests, without a namespace, for what an object is named
// by: reconcilers of whole control planes work that way.
func RequestsNamed(nameOf func(client.Object) string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: nameOf(o)}}}
	})
}
