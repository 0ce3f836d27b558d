// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/request"
)

// watches decide which events lead to the reconciliation of which Networks.
type watches struct {
	Options
	client client.Reader
}

// mine admits the Networks that this controller is responsible for.
func (w *watches) mine() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(object client.Object) bool {
		n, ok := object.(*extensionsv1alpha1.Network)
		return ok && w.isMine(n)
	})
}

// isMine reports whether a Network is for a shoot and of a type that has a plugin. In
// standalone mode no other extension would tell the user of a wrong type (N22).
func (w *watches) isMine(n *extensionsv1alpha1.Network) bool {
	_, known := w.Pipeline.Plugin(n.Spec.Type)
	return isForShoot(n) && (known || w.Standalone)
}

func isForShoot(n *extensionsv1alpha1.Network) bool {
	return n.Spec.Class == nil || *n.Spec.Class == extensionsv1alpha1.ExtensionClassShoot
}

// triggered admits the events that Gardener's contract lets an extension act on (N18 to
// N21).
func (w *watches) triggered() predicate.Predicate {
	switch {
	case w.Trigger == TriggerGeneration && w.Standalone:
		return predicate.Or(predicate.GenerationChangedPredicate{}, withOperation())
	case w.Trigger == TriggerGeneration:
		return predicate.GenerationChangedPredicate{}
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			n, ok := e.Object.(*extensionsv1alpha1.Network)
			return ok && (n.RequestedOperation() != "" || !n.DeletionTimestamp.IsZero() || !n.HasSucceeded() || isInTransition(n))
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*extensionsv1alpha1.Network)
			after, fine := e.ObjectNew.(*extensionsv1alpha1.Network)
			if !ok || !fine {
				return false
			}
			if !after.DeletionTimestamp.IsZero() && before.DeletionTimestamp.IsZero() {
				return true // whatever else has changed at the same time
			}
			return after.RequestedOperation() != "" ||
				!after.DeletionTimestamp.IsZero() && apiequality.Semantic.DeepEqual(before.Status, after.Status)
		},
		DeleteFunc:  func(event.DeleteEvent) bool { return true }, // what is remembered of it is forgotten
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// withOperation admits Networks with an operation annotation. In standalone mode, users ask
// for another reconciliation with it.
func withOperation() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(object client.Object) bool {
		n, ok := object.(*extensionsv1alpha1.Network)
		return ok && n.RequestedOperation() != ""
	})
}

// deleted admits events about the end of an object.
func deleted() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// created admits objects that the cache sees for the first time.
func created() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// relabelled admits changes of the labels of an object, which tell whose a control plane is.
func relabelled() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  predicate.LabelChangedPredicate{}.Update,
	}
}

// networksOfNamespace returns the Networks in a namespace, which may be this operator's by now.
func (w *watches) networksOfNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	return w.networksIn(ctx, namespace.GetName(), func(*extensionsv1alpha1.Network) bool { return true })
}

// networksOfManagedResource returns the Networks that a ManagedResource belongs to: they
// await its status, or its end.
func (w *watches) networksOfManagedResource(ctx context.Context, mr client.Object) []reconcile.Request {
	return w.networksIn(ctx, mr.GetNamespace(), func(n *extensionsv1alpha1.Network) bool {
		if mr.GetLabels()[extensionsv1alpha1.NetworkLabel] == extensionsv1alpha1.NetworkLabelValue(n.Name) {
			return true
		}
		plugin, known := w.Pipeline.Plugin(n.Spec.Type)
		return known && slices.Contains(request.Adopted(&plugin), mr.GetName())
	})
}

// networksBeside returns the Networks in the namespace of one that is gone: they may have
// waited for that.
func (w *watches) networksBeside(ctx context.Context, n client.Object) []reconcile.Request {
	return w.networksIn(ctx, n.GetNamespace(), func(*extensionsv1alpha1.Network) bool { return true })
}

// networksOfLostSecret returns the Networks that need the Secret of a bundle.
func (w *watches) networksOfLostSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	return w.networksOfSecret(ctx, secret, func(mr *resourcesv1alpha1.ManagedResource) bool {
		return slices.Contains(mr.Spec.SecretRefs, corev1.LocalObjectReference{Name: secret.GetName()})
	})
}

// networksOfSupersededSecret returns the Networks that delete a Secret. A cache that was behind may
// show it when all else is done, and no other event may follow for long.
func (w *watches) networksOfSupersededSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	return w.networksOfSecret(ctx, secret, func(mr *resourcesv1alpha1.ManagedResource) bool { return bundle.IsSuperseded(secret, mr) })
}

// networksOfSecret returns the Networks of a bundle's Secret whose ManagedResource is as it should be.
func (w *watches) networksOfSecret(ctx context.Context, secret client.Object, should func(*resourcesv1alpha1.ManagedResource) bool) []reconcile.Request {
	name := bundle.OwnerOf(secret)
	mr := &resourcesv1alpha1.ManagedResource{}
	if name == "" || w.client.Get(ctx, client.ObjectKey{Namespace: secret.GetNamespace(), Name: name}, mr) != nil || !should(mr) {
		return nil
	}
	return w.networksOfManagedResource(ctx, mr)
}

// networksOfCluster returns the Networks that follow a Cluster. Where a changed Cluster
// must not be carried out without an annotation, these are the ones that are being deleted:
// the Shoot may state by now that nothing is awaited.
func (w *watches) networksOfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	return w.networksIn(ctx, cluster.GetName(), func(n *extensionsv1alpha1.Network) bool {
		return w.Trigger == TriggerGeneration || !n.DeletionTimestamp.IsZero()
	})
}

// webhookChanges reconciles all Networks whose shoots may have to be told of a webhook.
func (w *watches) webhookChanges() source.Source {
	isTold := func(n *extensionsv1alpha1.Network) bool {
		plugin, known := w.Pipeline.Plugin(n.Spec.Type)
		return known && plugin.IsMutator()
	}
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-w.WebhookChanged:
				}
				for _, request := range w.networksIn(ctx, "", isTold) {
					queue.Add(request)
				}
			}
		}()
		return nil
	})
}

// networksIn returns requests for the Networks in a namespace, or in all, that which
// returns true for.
func (w *watches) networksIn(ctx context.Context, namespace string, which func(*extensionsv1alpha1.Network) bool) []reconcile.Request {
	list := &extensionsv1alpha1.NetworkList{}
	if err := w.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if n := &list.Items[i]; which(n) && w.isMine(n) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(n)})
		}
	}
	return requests
}
