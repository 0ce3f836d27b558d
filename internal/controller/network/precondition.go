// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/seed"
	"github.com/trellis-network/trellis/plugin"
)

// checkNodes returns an error if objects must not be written yet, or if that
// cannot be found out. A new cluster has nothing that could be interrupted.
func (w *work) checkNodes(ctx context.Context, wanted *plugin.Precondition) error {
	if wanted == nil || w.managed[seed.Main] == nil || w.sleeps() {
		return nil
	}
	present, err := bundle.Read(ctx, w.live, w.managed[seed.Main])
	if err != nil {
		return fmt.Errorf("find out what the shoot has now: %w", err)
	}
	if !wanted.Concerns(present) {
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
