// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/keyed"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// kinds answers questions about the kinds that a shoot has.
type kinds struct {
	shoot *shootclient.Shoot
	// namespace in which objects of a kind are listed.
	namespace string
}

// namespaced reports whether objects of a kind are in namespaces. Those of kinds that
// the shoot does not have are taken to be.
func (k kinds) namespaced(kind schema.GroupVersionKind) (bool, error) {
	mapping, err := k.shoot.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return true, ignoreNoMatch(err)
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// inScope returns an inventory without the namespaces of cluster-scoped objects.
// Gardener's resource manager gives one to objects of kinds that it did not know yet;
// with it they would be other objects, and obsolete.
func (k kinds) inScope(inventory []reference) []reference {
	scoped := slices.Clone(inventory)
	for i := range scoped {
		if namespaced, err := k.namespaced(kindOf(&scoped[i])); err == nil && !namespaced {
			scoped[i].Namespace = ""
		}
	}
	return scoped
}

// served reports whether the shoot has a custom kind now. It asks the API server, since
// the client still knows a kind when its definition is gone.
func (k kinds) served(ctx context.Context, kind schema.GroupVersionKind) (bool, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := k.shoot.Client.List(ctx, list, client.InNamespace(k.namespace), client.Limit(1))
	switch {
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsForbidden(err):
		return true, nil // The shoot has it; the error of applying the object says more.
	}
	return err == nil, k.shoot.Failure(err)
}

func ignoreNoMatch(err error) error {
	if meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

// absentKinds remembers when a cluster was found to lack a kind. All ManagedResources
// ask together, since many may be for the seed. What is older than absentFor is deleted, since
// clusters come and go.
type absentKinds struct {
	found keyed.Map[absentKind, time.Time]
}

// absentKind is a kind that a cluster lacks, by the address of its API server.
type absentKind struct {
	server string
	kind   schema.GroupVersionKind
}

// haveAppeared reports whether the shoot has got one of the kinds that it lacked. An
// error counts as no, since the next run asks again.
func (a *absentKinds) haveAppeared(ctx context.Context, k kinds, lacked []schema.GroupVersionKind, now time.Time) bool {
	return slices.ContainsFunc(lacked, func(kind schema.GroupVersionKind) bool {
		return a.ask(absentKind{k.shoot.Server, kind}, now, func() bool {
			served, err := k.served(ctx, kind)
			return served && err == nil
		})
	})
}

// ask asks whether a kind has appeared, unless it was absent a moment ago.
func (a *absentKinds) ask(about absentKind, now time.Time, served func() bool) bool {
	if found, known := a.found.Get(about); known && now.Sub(found) < absentFor {
		return false
	}
	if served() {
		a.found.Delete(about)
		return true
	}
	a.found.DeleteFunc(func(_ absentKind, found time.Time) bool { return now.Sub(found) >= absentFor })
	a.found.Set(about, now)
	return false
}

// leftOutMessage names the objects that were left out, as a further sentence.
func leftOutMessage(items []*item) string {
	if len(items) == 0 {
		return ""
	}
	var names, absent []string
	for _, each := range items {
		names = append(names, each.id.String())
	}
	for _, kind := range kindsOf(items) {
		absent = append(absent, kind.GroupKind().String())
	}
	slices.Sort(names)
	slices.Sort(absent)
	return fmt.Sprintf(" Left out, since the cluster does not have their kinds (%s): %s.", strings.Join(absent, ", "), strings.Join(names, ", "))
}

// kindsOf returns the kinds of items, each once.
func kindsOf(items []*item) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, each := range items {
		if kind := kindOf(&each.ref); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
