// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/trellis-network/trellis/internal/shootclient"
)

const (
	// FieldManager owns, in the shoot, the fields that are stated.
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
	// Forget says that nothing in the namespace needs the cluster any more.
	Forget(namespace string)
	// Source tells of changes in all clusters.
	Source(requests func(shootclient.Event) (wanted []reconcile.Request, after time.Duration)) source.Source
}

// Options are the settings of the controller. Everything but Shoots has a
// default.
type Options struct {
	// Shoots gives access to the shoots.
	Shoots Shoots
	// Class of the ManagedResources to carry out. Default: DefaultClass.
	Class string
	// Confined says that the target is a cluster which ManagedResources share, above
	// all the seed: each may only have objects in the namespace of its own name
	// there. Objects of kinds that the target lacks are left out.
	Confined bool
	// GarbageCollected says that a garbage collector works in the target. Obsolete
	// Secrets and ConfigMaps that it may collect are left to it, since pods of the
	// former version may still refer to them.
	GarbageCollected bool
	// ClusterID, if not empty, precedes the origin annotation of the objects.
	ClusterID string
	// ManagedBy is the value of the label that marks managed objects. It must be
	// the one that Shoots watches by. Default: gardener.
	ManagedBy string
	// SyncPeriod is how often a ManagedResource is looked at when nothing seems to
	// have changed. Default: 1 minute.
	SyncPeriod time.Duration
	// DeletionInterval is how often objects that are being deleted are looked at.
	// Default: 5 seconds.
	DeletionInterval time.Duration
	// EstablishTimeout bounds the wait for a CRD to be served before its custom
	// resources are applied. Default: 10 seconds.
	EstablishTimeout time.Duration
	// MaxConcurrentReconciles is the number of ManagedResources that are carried
	// out at the same time. Default: 10.
	MaxConcurrentReconciles int
	// Clock is the time in conditions. Default: the real one.
	Clock clock.PassiveClock
}

// name of the controller.
func (o *Options) name() string {
	if o.Class == "" {
		return "managedresource"
	}
	return "managedresource-" + o.Class
}

func (o *Options) setDefaults() {
	o.Class = settledClass(o.Class)
	if o.ManagedBy == "" {
		o.ManagedBy = "gardener"
	}
	if o.SyncPeriod == 0 {
		o.SyncPeriod = time.Minute
	}
	if o.DeletionInterval == 0 {
		o.DeletionInterval = 5 * time.Second
	}
	if o.EstablishTimeout == 0 {
		o.EstablishTimeout = 10 * time.Second
	}
	if o.MaxConcurrentReconciles == 0 {
		o.MaxConcurrentReconciles = 10
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
}

// finalizer is the finalizer of the class.
func (o *Options) finalizer() string {
	if o.Class == "" {
		return Finalizer
	}
	return Finalizer + "-" + o.Class
}

// passTimeout bounds one reconciliation.
func (o *Options) passTimeout() time.Duration { return max(o.SyncPeriod, time.Minute) }
