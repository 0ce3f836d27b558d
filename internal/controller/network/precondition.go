// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/seed"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// checkNodes returns an error if objects must not be written yet, or if that cannot be
// found out. A cluster without nodes has nothing that could be interrupted, and a
// hibernated one has none.
func (w *work) checkNodes(ctx context.Context, kept *state.State, wanted *plugin.Precondition) error {
	if wanted == nil || w.sleeps() {
		return nil
	}
	present, known, err := w.present(ctx, kept)
	if err != nil {
		return fmt.Errorf("find out what the shoot has now: %w", err)
	}
	if known && !wanted.Concerns(present) {
		return nil
	}
	shoot, err := w.Shoots.For(ctx, w.network.Namespace)
	if err != nil {
		return fmt.Errorf("look at the nodes before the network is changed (%s): %w", wanted.Because, err)
	}
	nodes := &corev1.NodeList{}
	if err := shoot.Client.List(ctx, nodes); err != nil {
		return fmt.Errorf("look at the nodes before the network is changed (%s): %w", wanted.Because, shoot.Failure(err))
	}
	for i := range nodes.Items {
		if err := wanted.Unmet(&nodes.Items[i]); err != nil {
			return fmt.Errorf("the network is not changed until each node has the condition %s=%s with the reason %s, because %s: %w",
				wanted.Condition, wanted.Status, wanted.Reason, wanted.Because, err)
		}
	}
	return nil
}

// present are the objects that the shoot has: those of the bundle or, where that is
// missing, as after a restoration, those of what was applied last. Where neither tells,
// there may be a network of which nothing is known.
func (w *work) present(ctx context.Context, kept *state.State) (objects []unstructured.Unstructured, known bool, err error) {
	if mr := w.managed[seed.Main]; mr != nil {
		objects, err = bundle.Read(ctx, w.live, mr)
		return objects, err == nil, err
	}
	if kept.Applied == nil || kept.Applied.Accepted == nil {
		return nil, false, nil
	}
	built, err := w.buildAgain(ctx, kept, kept.Applied)
	if err != nil || len(built.Errors) > 0 {
		return nil, false, errors.Join(err, built.Errors.ToAggregate())
	}
	documents, err := pipeline.Documents(seed.Main.Of(&built.Objects))
	if err != nil {
		return nil, false, err
	}
	decoded, _ := bundle.Decode("", map[string][]byte{"": documents})
	for _, document := range decoded {
		objects = append(objects, *document.Object)
	}
	return objects, true, nil
}
