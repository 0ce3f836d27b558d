// SPDX-License-Identifier: Apache-2.0

// Package cloudconfig keeps the ConfigMap with the cloud config in the control planes of shoots,
// which kube-controller-managers read there, and lets new pods replace those that have read
// another one.
package cloudconfig

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controlplane"
	"github.com/trellis-network/trellis/internal/outcome"
)

// ControllerName is the controller's name in logs and metrics.
const ControllerName = "cloudconfig"

// Options are the controller's settings.
type Options struct {
	// Clouds has what control planes are adapted to, by the type of their infrastructure. Other
	// control planes are left alone.
	Clouds map[string]controlplane.Cloud
	// MaxConcurrentReconciles is how many control planes are reconciled at once.
	MaxConcurrentReconciles int
}

// Watched restricts a manager's cache to the ConfigMaps that the controller reads, which its
// rights are for.
func Watched() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}: {Field: fields.OneTermEqualSelector(metav1.ObjectNameField, controlplane.ConfigMapName)},
	}
}

// +kubebuilder:rbac:roleName=controlplane/operator,groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:roleName=controlplane/operator,groups="",resources=configmaps,resourceNames=cloud-provider-config,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:roleName=controlplane/operator,groups=apps,resources=deployments,resourceNames=kube-controller-manager,verbs=get;patch
// +kubebuilder:rbac:roleName=cloudconfigtemplate/operator,groups=extensions.gardener.cloud,resources=infrastructures,verbs=list;watch

// Add registers the controller with mgr, whose cache has Watched.
func Add(mgr manager.Manager, opts Options) error {
	ofNamespace := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: object.GetNamespace()}}}
	})
	b := builder.ControllerManagedBy(mgr)
	for _, cloud := range opts.Clouds {
		if cloud.Template != "" {
			b.Watches(&extensionsv1alpha1.Infrastructure{}, ofNamespace)
			break
		}
	}
	return b.
		Named(ControllerName).
		For(&corev1.Namespace{}, builder.OnlyMetadata).
		WatchesMetadata(&corev1.ConfigMap{}, ofNamespace).
		WithOptions(controller.Options{MaxConcurrentReconciles: opts.MaxConcurrentReconciles}).
		Complete(&reconciler{mgr.GetClient(), opts})
}

type reconciler struct {
	client.Client
	Options
}

// Reconcile brings the control plane in a namespace up to date.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.Get(ctx, request.NamespacedName, namespace); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	cloud, adapted := r.Clouds[namespace.Labels[extensionsv1alpha1.ProviderLabel]]
	if !adapted || !namespace.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	if cloud.Template != "" {
		infrastructure, err := r.infrastructureOf(ctx, namespace)
		if err == nil {
			cloud, err = cloud.For(infrastructure)
		}
		if err != nil {
			log.FromContext(ctx).Info("Waiting for what the cloud config needs", "namespace", namespace.Name, "reason", err.Error())
			return reconcile.Result{}, nil
		}
	}
	err := r.writeConfig(ctx, namespace.Name, cloud)
	if err == nil {
		err = r.adapt(ctx, namespace.Name, cloud)
	}
	return outcome.TryAgain(err).Result()
}

// infrastructureOf returns the Infrastructure of a control plane.
func (r *reconciler) infrastructureOf(ctx context.Context, namespace *metav1.PartialObjectMetadata) (*extensionsv1alpha1.Infrastructure, error) {
	list := &extensionsv1alpha1.InfrastructureList{}
	if err := r.List(ctx, list, client.InNamespace(namespace.Name)); err != nil {
		return nil, err
	}
	ofType := slices.DeleteFunc(list.Items, func(i extensionsv1alpha1.Infrastructure) bool {
		return i.Spec.Type != namespace.Labels[extensionsv1alpha1.ProviderLabel] || !i.DeletionTimestamp.IsZero()
	})
	if len(ofType) != 1 {
		return nil, fmt.Errorf("there are %d Infrastructures, where there must be one", len(ofType))
	}
	return &ofType[0], nil
}

// writeConfig writes the ConfigMap, unless it has the cloud config. One that is no longer needed
// stays until its namespace is deleted.
func (r *reconciler) writeConfig(ctx context.Context, namespace string, cloud controlplane.Cloud) error {
	if cloud.Config == "" {
		return nil
	}
	key := client.ObjectKey{Namespace: namespace, Name: controlplane.ConfigMapName}
	current := &corev1.ConfigMap{}
	if err := r.Get(ctx, key, current); client.IgnoreNotFound(err) != nil {
		return err
	}
	if current.Data[controlplane.ConfigKey] == cloud.Config {
		return nil
	}
	wanted := corev1ac.ConfigMap(key.Name, key.Namespace).WithData(map[string]string{controlplane.ConfigKey: cloud.Config})
	if err := r.Apply(ctx, wanted, client.FieldOwner("trellis"), client.ForceOwnership); err != nil {
		return fmt.Errorf("write the ConfigMap %s with the cloud config: %w", key, err)
	}
	log.FromContext(ctx).Info("Wrote the cloud config", "configMap", key)
	return nil
}

// adapt changes a kube-controller-manager that was written before the webhook was there, or that
// has read another cloud config.
func (r *reconciler) adapt(ctx context.Context, namespace string, cloud controlplane.Cloud) error {
	key := client.ObjectKey{Namespace: namespace, Name: controlplane.KubeControllerManager}
	current := &appsv1.Deployment{}
	if err := r.Get(ctx, key, current); err != nil {
		return client.IgnoreNotFound(err)
	}
	wanted := current.DeepCopy()
	if current.Labels[controlplane.MutatedLabel] != "true" || !current.DeletionTimestamp.IsZero() || !cloud.Adapt(&wanted.Spec.Template) ||
		equality.Semantic.DeepEqual(current.Spec, wanted.Spec) {
		return nil
	}
	if err := r.Patch(ctx, wanted, client.StrategicMergeFrom(current, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("adapt the Deployment %s to its infrastructure: %w", key, err)
	}
	log.FromContext(ctx).Info("Adapted a kube-controller-manager to its infrastructure", "deployment", key)
	return nil
}
