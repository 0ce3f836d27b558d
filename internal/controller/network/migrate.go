// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/seed"
)

// migrate lets go of a shoot whose control plane moves to another seed: the
// bundles go, what they brought into the shoot stays. The order of the writes is
// Gardener's: its caller deletes the Network as soon as the status says Succeeded,
// and expects no finalizer to be left by then or soon after (section 2.10).
func (w *work) migrate(ctx context.Context) (ctrl.Result, error) {
	if err := w.leaving(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if err := w.keepObjects(ctx); err != nil {
		return ctrl.Result{}, w.failed(ctx, nil, fmt.Errorf("keep the network's objects in the shoot: %w", err))
	}
	if gone, result, err := w.withoutBundles(ctx); !gone {
		return result, err
	}
	if err := w.left(ctx); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := w.network.DeepCopy()
	w.network.Finalizers = nil
	if err := w.client.Patch(ctx, w.network, client.MergeFrom(before)); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return ctrl.Result{}, client.IgnoreNotFound(w.answer(ctx, extensionsv1alpha1.OperationMigrate))
}

// keepObjects makes sure that deleting the bundles leaves in the shoot what its network
// consists of. What is in the seed goes, and what changes or refuses objects in the
// shoot, since it may point to the seed.
func (w *work) keepObjects(ctx context.Context) error {
	definition, known := w.Pipeline.Plugin(w.network.Spec.Type)
	if !known {
		return nil
	}
	staying := slices.DeleteFunc(slices.Clone(seed.Removal), func(g seed.Group) bool { return !g.Stays() })
	return bundle.KeepObjects(ctx, w.client, w.live, w.network.Namespace, seed.NamesOf(&definition, staying)...)
}

// answer takes an operation annotation away whose operation is done, unless another one
// is asked for by now.
func (w *work) answer(ctx context.Context, operation string) error {
	if operationOf(w.network) != operation {
		return nil
	}
	const path = "/metadata/annotations/gardener.cloud~1operation"
	patch := fmt.Appendf(nil, `[{"op":"test","path":%q,"value":%q},{"op":"remove","path":%q}]`, path, operation, path)
	err := w.client.Patch(ctx, w.network, client.RawPatch(types.JSONPatchType, patch))
	if apierrors.IsInvalid(err) {
		return errOvertaken
	}
	return err
}
