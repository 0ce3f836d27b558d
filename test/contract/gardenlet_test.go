// SPDX-License-Identifier: Apache-2.0

package contract

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
	operationReconcile    = "reconcile"
	operationMigrate      = "migrate"
	operationWaitForState = "wait-for-state"
	operationRestore      = "restore"
)

// networkKind is the kind of a Network.
var networkKind = schema.GroupVersionKind{Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: "Network"}

// gardenlet does what Gardener's gardenlet does with one Network in one seed: what it
// writes, in which order it reads what comes back, and when it gives up (C1 to C4). It goes
// by the contract's names and does not use Trellis' API types: it does not find a field
// that these misspell. It is not safe for concurrent use.
type gardenlet struct {
	// Seed is the API server with the Network.
	Seed client.Client
	// Name of the Network; its namespace is the shoot's control plane.
	Name types.NamespacedName
	// Spec is the whole spec that the Network must get.
	Spec map[string]any
	// Clock gives the timestamps.
	Clock clock.PassiveClock
	// Patience is how long it waits.
	Patience waitTimes

	// timestamp is what was written last.
	timestamp string
}

// Deploy writes the Network and asks for it to be reconciled.
func (g *gardenlet) Deploy(ctx context.Context) error { return g.deploy(ctx, operationReconcile) }

// Migrate asks for the Network to be left to another seed.
func (g *gardenlet) Migrate(ctx context.Context) error {
	return g.patch(ctx, func(n *unstructured.Unstructured) { g.ask(n, operationMigrate) })
}

// Restore writes the Network on the seed that it comes to, puts the state there
// that another gardenlet has saved, unless there is one already, and asks for the
// Network to be restored.
func (g *gardenlet) Restore(ctx context.Context, saved *networkState) error {
	if err := g.deploy(ctx, operationWaitForState); err != nil {
		return err
	}
	if err := g.putState(ctx, saved); err != nil {
		return err
	}
	return g.patch(ctx, func(n *unstructured.Unstructured) { g.ask(n, operationRestore) })
}

// Delete confirms the deletion, with a new timestamp, and deletes the Network.
// One that is not there is no error.
func (g *gardenlet) Delete(ctx context.Context) error {
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
func (g *gardenlet) deploy(ctx context.Context, operation string) error {
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
func (g *gardenlet) patch(ctx context.Context, change func(*unstructured.Unstructured)) error {
	n, err := g.get(ctx)
	if err != nil {
		return err
	}
	before := n.DeepCopy()
	change(n)
	return g.Seed.Patch(ctx, n, client.MergeFrom(before))
}

func (g *gardenlet) ask(n *unstructured.Unstructured, operation string) {
	annotate(n, operationAnnotation, operation)
	g.stamp(n)
}

// stamp puts the time on the Network, to the nanosecond.
func (g *gardenlet) stamp(n *unstructured.Unstructured) {
	g.timestamp = g.Clock.Now().UTC().Format(time.RFC3339Nano)
	annotate(n, timestampAnnotation, g.timestamp)
}

func (g *gardenlet) get(ctx context.Context) (*unstructured.Unstructured, error) {
	n := g.empty()
	return n, g.Seed.Get(ctx, g.Name, n)
}

// empty is the Network without anything but its name.
func (g *gardenlet) empty() *unstructured.Unstructured {
	n := &unstructured.Unstructured{}
	n.SetGroupVersionKind(networkKind)
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
