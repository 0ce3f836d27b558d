// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// networkState is what of a Network moves to another seed.
type networkState struct {
	// State and Resources are the status' fields of these names, nil where the
	// Network has none.
	State, Resources any
}

// Save reads what moves.
func (g *gardenlet) Save(ctx context.Context) (*networkState, error) {
	n, err := g.get(ctx)
	if err != nil {
		return nil, err
	}
	state, _, _ := unstructured.NestedFieldCopy(n.Object, "status", "state")
	resources, _, _ := unstructured.NestedFieldCopy(n.Object, "status", "resources")
	return &networkState{State: state, Resources: resources}, nil
}

// putState copies the state, only if there is none.
func (g *gardenlet) putState(ctx context.Context, saved *networkState) error {
	n, err := g.get(ctx)
	if err != nil || saved == nil {
		return err
	}
	if _, there, _ := unstructured.NestedFieldNoCopy(n.Object, "status", "state"); there {
		return nil
	}
	before := n.DeepCopy()
	for field, value := range map[string]any{"state": saved.State, "resources": saved.Resources} {
		if value == nil {
			continue
		}
		if err := unstructured.SetNestedField(n.Object, value, "status", field); err != nil {
			return err
		}
	}
	return g.Seed.Status().Patch(ctx, n, client.MergeFrom(before))
}

// CleanUp does what a gardenlet does to ManagedResources after a forced deletion:
// none keeps its objects, all are deleted, and those for the shoot lose their
// finalizers.
func (g *gardenlet) CleanUp(ctx context.Context) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "resources.gardener.cloud", Version: "v1alpha1", Kind: "ManagedResourceList"})
	if err := g.Seed.List(ctx, list, client.InNamespace(g.Name.Namespace)); err != nil {
		return err
	}
	for i := range list.Items {
		mr := &list.Items[i]
		before := mr.DeepCopy()
		if err := unstructured.SetNestedField(mr.Object, false, "spec", "keepObjects"); err != nil {
			return err
		}
		if err := client.IgnoreNotFound(g.Seed.Patch(ctx, mr, client.MergeFrom(before))); err != nil {
			return err
		}
		if err := client.IgnoreNotFound(g.Seed.Delete(ctx, mr)); err != nil {
			return err
		}
		if class, _, _ := unstructured.NestedString(mr.Object, "spec", "class"); class != "" {
			continue
		}
		strip := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := client.IgnoreNotFound(g.Seed.Patch(ctx, mr, strip)); err != nil {
			return err
		}
	}
	return nil
}
