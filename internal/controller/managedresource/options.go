// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

const (
	// FieldManager owns the fields in the shoot that the bundles state.
	FieldManager = "trellis"
	// DefaultClass is the name of the class whose target is the shoot; a
	// ManagedResource without a class is of it.
	DefaultClass = "resources"
	// Finalizer keeps a ManagedResource of the default class until its objects
	// are gone. Other classes append "-" and their name.
	Finalizer = "resources.gardener.cloud/gardener-resource-manager"
)

// Shoots gives access to the clusters that objects are applied in, by the
// namespace of the ManagedResource. *shootclient.Clients is one, and
// *shootclient.Seed another, which gives the seed for every namespace.
type Shoots interface {
	shootclient.Access
	// Forget closes the access to the cluster of a namespace that has no
	// ManagedResources any more.
	Forget(namespace string)
	// Source returns the changes of objects in all clusters.
	Source(requests func(shootclient.Event) (wanted []reconcile.Request, after time.Duration)) source.Source
}

// Options are the settings of the controller. Everything but Shoots has a
// default.
type Options struct {
	// Shoots gives access to the shoots.
	Shoots Shoots
	// Class of the ManagedResources to reconcile. Default: DefaultClass.
	Class string
	// Confined means that ManagedResources share the target, above all the seed: each
	// may only have objects in the namespace of its own name there. Objects of kinds
	// that the target lacks are left out.
	Confined bool
	// IsOthers reports whether another operator reconciles the ManagedResources in a
	// namespace. Default: none.
	IsOthers func(ctx context.Context, namespace string) bool
	// ManagedBy is the value of the label that marks managed objects. It must be
	// the one that Shoots watches by. Default: gardener.
	ManagedBy string
	// SyncPeriod is how often a ManagedResource is reconciled without an event.
	// Default: 1 minute.
	SyncPeriod time.Duration
	// DeletionInterval is how often the operator reads objects that are being deleted.
	// Default: 5 seconds.
	DeletionInterval time.Duration
	// MaxConcurrentReconciles is the number of ManagedResources that are reconciled
	// at the same time. Default: 10.
	MaxConcurrentReconciles int
	// Clock is the time in conditions. Default: the real one.
	Clock clock.PassiveClock
}

func (o *Options) setDefaults() {
	o.Class = withoutDefault(o.Class)
	o.ManagedBy = cmp.Or(o.ManagedBy, "gardener")
	o.SyncPeriod = cmp.Or(o.SyncPeriod, defaultSyncPeriod)
	o.DeletionInterval = cmp.Or(o.DeletionInterval, defaultDeletionInterval)
	o.MaxConcurrentReconciles = cmp.Or(o.MaxConcurrentReconciles, 10)
	o.Clock = cmp.Or[clock.PassiveClock](o.Clock, clock.RealClock{})
}

// ClassOf returns the class of a ManagedResource. The default class is the empty one.
func ClassOf(mr *resourcesv1alpha1.ManagedResource) string {
	return withoutDefault(ptr.Deref(mr.Spec.Class, ""))
}

func withoutDefault(class string) string {
	if class == DefaultClass {
		return ""
	}
	return class
}

// finalizer returns the finalizer of the controller's class.
func (o *Options) finalizer() string { return o.ofClass(Finalizer) }

// controllerName returns the controller's name in logs and metrics.
func (o *Options) controllerName() string { return o.ofClass("managedresource") }

func (o *Options) ofClass(name string) string {
	if o.Class == "" {
		return name
	}
	return name + "-" + o.Class
}

// hasOtherFinalizer reports whether the resource manager of another class still has
// to delete its objects.
func (o *Options) hasOtherFinalizer(mr *resourcesv1alpha1.ManagedResource) bool {
	return slices.ContainsFunc(mr.Finalizers, func(finalizer string) bool {
		return strings.HasPrefix(finalizer, Finalizer) && finalizer != o.finalizer()
	})
}
