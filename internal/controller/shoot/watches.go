// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// byControlPlane is the index of Shoots by their control-plane namespace. Two Shoots can
// have the same one; the controller refuses the second.
const byControlPlane = "trellis.network/control-plane-namespace"

// owners finds the Shoots that objects belong to.
type owners struct {
	client client.Reader
}

// ofObjectsIn returns a handler that reconciles the Shoots of an object's control-plane
// namespace.
func (o owners) ofObjectsIn(namespaceOf func(client.Object) string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		return o.ofNamespace(ctx, namespaceOf(object))
	})
}

// ofNamespace returns the Shoots that have a control-plane namespace; if none has, the
// Shoot that the namespace's annotation names.
func (o owners) ofNamespace(ctx context.Context, controlPlane string) []reconcile.Request {
	shoots := &corev1beta1.ShootList{}
	if err := o.client.List(ctx, shoots, client.MatchingFields{byControlPlane: controlPlane}); err != nil {
		return nil
	}
	if len(shoots.Items) == 0 {
		if owner, known := o.annotated(ctx, controlPlane); known {
			return []reconcile.Request{{NamespacedName: owner}}
		}
	}
	requests := make([]reconcile.Request, 0, len(shoots.Items))
	for i := range shoots.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&shoots.Items[i])})
	}
	return requests
}

// ofSecret returns the Shoot that a user's kubeconfig Secret, or the copy of it, belongs
// to.
func (o owners) ofSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	if secret.GetName() == accessSecret {
		return o.ofNamespace(ctx, secret.GetNamespace())
	}
	if name, is := strings.CutSuffix(secret.GetName(), userSecretSuffix); is && name != "" {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: secret.GetNamespace(), Name: name}}}
	}
	return nil
}

// annotated returns the Shoot that the annotation of a control-plane namespace names.
func (o owners) annotated(ctx context.Context, controlPlane string) (owner types.NamespacedName, known bool) {
	namespace := partialMetadata("Namespace")
	if err := o.client.Get(ctx, client.ObjectKey{Name: controlPlane}, namespace); err != nil {
		return owner, false
	}
	owner.Namespace, owner.Name, known = strings.Cut(namespace.Annotations[ShootAnnotation], "/")
	return owner, known
}
