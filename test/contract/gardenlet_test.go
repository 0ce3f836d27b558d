// SPDX-License-Identifier: Apache-2.0

package gardenlet

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Annotations that a gardenlet writes.
const (
	operationAnnotation = "gardener.cloud/operation"
	timestampAnnotation = "gardener.cloud/timestamp"
	confirmation        = "confirmation.gardener.cloud/deletion"
)

// Operations that it asks for.
const (
	reconcile    = "reconcile"
	migrate      = "migrate"
	waitForState = "wait-for-state"
	restore      = "restore"
)

// kind is the kind of a Network.
var kind = schema.GroupVersionKind{Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: "Network"}

// Gardenlet is responsible for one Network in one seed. It is not safe for
// concurrent use: a gardenlet does one thing after the other.
type Gardenlet struct {
	// Seed is the API server with the Network.
	Seed client.Client
	// Name of the Network; its namespace is the shoot's control plane.
	Name types.NamespacedName
	// Spec is the whole spec that the Network must get.
	Spec map[string]any
	// Clock gives the timestamps.
	Clock clock.PassiveClock
	// Patience is how long it waits.
	Patience Patience

	// timestamp is what was written last.
	timestamp string
}

// Deploy writes the Network and asks for it to be reconciled.
func (g *Gardenlet) Deploy(ctx context.Context) error { return g.deploy(ctx, reconcile) }

// Migrate asks for the Network to be left to another seed.
func (g *Gardenlet) Migrate(ctx context.Context) error {
	return g.patch(ctx, func(n *unstructured.Unstructured) { g.ask(n, migrate) })
}

// Restore writes the Network on the seed that it comes to, puts the state there
// that another gardenlet has saved, unless there is one already, and asks for the
// Network to be restored.
func (g *Gardenlet) Restore(ctx context.Context, saved *State) error {
	if err := g.deploy(ctx, waitForState); err != nil {
		return err
	}
	if err := g.putState(ctx, saved); err != nil {
		return err
	}
	return g.patch(ctx, func(n *unstructured.Unstructured) { g.ask(n, restore) })
}

// Delete confirms the deletion, with a new timestamp, and deletes the Network.
// One that is not there is no error.
func (g *Gardenlet) Delete(ctx context.Context) error {
	err := g.patch(ctx, func(n *unstructured.Unstructured) {
		g.stamp(n)
		annotate(n, confirmation, "true")
	})
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	return client.IgnoreNotFound(g.Seed.Delete(ctx, g.empty()))
}

// deploy gets the Network or creates it; one that is there has its whole spec, and
// the annotations, merged into it.
func (g *Gardenlet) deploy(ctx context.Context, operation string) error {
	shape := func(n *unstructured.Unstructured) {
		n.Object["spec"] = (&unstructured.Unstructured{Object: g.Spec}).DeepCopy().Object
		g.ask(n, operation)
	}
	err := g.patch(ctx, shape)
	if !apierrors.IsNotFound(err) {
		return err
	}
	n := g.empty()
	shape(n)
	return g.Seed.Create(ctx, n)
}

// patch sends, as a JSON merge patch without a lock, what change makes of the
// Network.
func (g *Gardenlet) patch(ctx context.Context, change func(*unstructured.Unstructured)) error {
	n, err := g.get(ctx)
	if err != nil {
		return err
	}
	before := n.DeepCopy()
	change(n)
	return g.Seed.Patch(ctx, n, client.MergeFrom(before))
}

func (g *Gardenlet) ask(n *unstructured.Unstructured, operation string) {
	annotate(n, operationAnnotation, operation)
	g.stamp(n)
}

// stamp puts the time on the Network, to the nanosecond.
func (g *Gardenlet) stamp(n *unstructured.Unstructured) {
	g.timestamp = g.Clock.Now().UTC().Format(time.RFC3339Nano)
	annotate(n, timestampAnnotation, g.timestamp)
}

func (g *Gardenlet) get(ctx context.Context) (*unstructured.Unstructured, error) {
	n := g.empty()
	return n, g.Seed.Get(ctx, g.Name, n)
}

// empty is the Network without anything but its name.
func (g *Gardenlet) empty() *unstructured.Unstructured {
	n := &unstructured.Unstructured{}
	n.SetGroupVersionKind(kind)
	n.SetNamespace(g.Name.Namespace)
	n.SetName(g.Name.Name)
	return n
}

func annotate(object metav1.Object, key, value string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	object.SetAnnotations(annotations)
}
