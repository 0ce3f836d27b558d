// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/state"
)

// nodesTimeout bounds how long is asked for the number of nodes, which is only good
// to know.
const nodesTimeout = 5 * time.Second

// nodes is the number of nodes of a network that runs, as the DaemonSet of its agents
// counts them; 0 where that cannot be seen, which leaves a roll-out as it is. It is
// read from the cache that the network's health is seen by.
func (w *work) nodes(ctx context.Context, kept *state.State) int32 {
	if kept.Applied == nil || w.sleeps() {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, nodesTimeout)
	defer cancel()
	shoot, err := w.Shoots.For(ctx, w.network.Namespace)
	if err != nil {
		return 0
	}
	for _, component := range kept.Components {
		if component.Kind != "DaemonSet" {
			continue
		}
		agents := &appsv1.DaemonSet{}
		if shoot.Reader.Get(ctx, client.ObjectKey{Namespace: component.Namespace, Name: component.Workload}, agents) == nil {
			return agents.Status.DesiredNumberScheduled
		}
	}
	return 0
}
