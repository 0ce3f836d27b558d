// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// served says whether the shoot has a custom kind now. What the client has learned
// of a kind outlives the kind's definition, so the API server itself is asked.
func (p *pass) served(ctx context.Context, kind schema.GroupVersionKind) (bool, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := p.shoot.Client.List(ctx, list, client.InNamespace(p.mr.Namespace), client.Limit(1))
	switch {
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsForbidden(err):
		return true, nil // it is there; applying the object will tell the rest
	}
	return err == nil, p.shoot.Failure(err)
}

// remembering is served, which asks about each kind once.
func (p *pass) remembering(ctx context.Context) func(schema.GroupVersionKind) (bool, error) {
	known := map[schema.GroupVersionKind]bool{}
	return func(kind schema.GroupVersionKind) (bool, error) {
		if served, asked := known[kind]; asked {
			return served, nil
		}
		served, err := p.served(ctx, kind)
		if err == nil {
			known[kind] = served
		}
		return served, err
	}
}

// hasAppeared says whether the shoot has got a kind of which objects were left
// out. What cannot be found out now is looked at again by the next pass. All
// ManagedResources for one cluster ask together: many may be for the seed.
func (p *pass) hasAppeared(ctx context.Context) bool {
	return slices.ContainsFunc(p.record.leftOut, func(kind schema.GroupVersionKind) bool {
		return p.absences.ask(absence{p.shoot.Server, kind}, p.options.Clock.Now(), func() bool {
			served, err := p.served(ctx, kind)
			return served && err == nil
		})
	})
}

// absence is a kind that a cluster lacks, by the address of its API server.
type absence struct {
	server string
	kind   schema.GroupVersionKind
}

// absenceLasts is how long a kind that was absent is taken to be so.
const absenceLasts = 10 * time.Second

// absences remembers when a cluster was found to lack a kind.
type absences struct {
	mu    sync.Mutex
	found map[absence]time.Time
}

// ask asks whether a kind is there, unless that is known. The lock is not held
// meanwhile: one cluster may take long to answer.
func (a *absences) ask(about absence, now time.Time, served func() bool) bool {
	if a.isKnown(about, now) {
		return false
	}
	there := served()
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.found, about)
	if !there {
		if a.found == nil {
			a.found = map[absence]time.Time{}
		}
		a.found[about] = now
	}
	return there
}

func (a *absences) isKnown(about absence, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	found, known := a.found[about]
	return known && now.Sub(found) < absenceLasts
}

// leftOutMessage names the objects that were left out, as a further sentence.
func leftOutMessage(items []*item) string {
	if len(items) == 0 {
		return ""
	}
	names := make([]string, 0, len(items))
	for _, each := range items {
		names = append(names, each.id.String())
	}
	slices.Sort(names)
	kinds := make([]string, 0, len(items))
	for _, kind := range kindsOf(items) {
		kinds = append(kinds, kind.GroupKind().String())
	}
	slices.Sort(kinds)
	return " Left out, since the cluster does not have their kinds (" + strings.Join(kinds, ", ") + "): " +
		strings.Join(names, ", ") + "."
}

// kindsOf are the kinds of items, each once.
func kindsOf(items []*item) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, each := range items {
		if kind := kindOf(&each.ref); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
