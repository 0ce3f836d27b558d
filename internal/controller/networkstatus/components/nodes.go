// SPDX-License-Identifier: Apache-2.0

package components

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/shootclient"
)

const (
	// nodeGrace is how long a node may have no network. A new one waits for the network's agent,
	// or for the cloud's route controller.
	nodeGrace = 5 * time.Minute
	// maxNamed is how many nodes a message names.
	maxNamed = 3
	// maxReason is how long the reason of a node's condition may be in a message, in bytes.
	maxReason = 64
)

// nodesWithoutNetwork returns what to tell of nodes that take no new pods, since their condition
// NetworkUnavailable has been True for nodeGrace; empty if there are none. Agents may run well
// there: a node keeps the condition of a former agent if neither the present one nor the cloud's
// route controller sets it.
func nodesWithoutNetwork(ctx context.Context, cache client.Reader, now time.Time) (string, error) {
	nodes := &corev1.NodeList{}
	if err := cache.List(ctx, nodes); err != nil {
		return "", err
	}
	var named []string
	for i := range nodes.Items {
		node := &nodes.Items[i]
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeNetworkUnavailable && c.Status == corev1.ConditionTrue && !shootclient.IsLeaving(node) && now.Sub(c.LastTransitionTime.Time) >= nodeGrace {
				named = append(named, fmt.Sprintf("%s (%s)", node.Name, cmp.Or(c.Reason[:min(len(c.Reason), maxReason)], "without a reason")))
			}
		}
	}
	if len(named) == 0 {
		return "", nil
	}
	slices.Sort(named)
	more := ""
	if len(named) > maxNamed {
		more = fmt.Sprintf(" and %d more", len(named)-maxNamed)
		named = named[:maxNamed]
	}
	return fmt.Sprintf("nodes take no new pods, since their condition NetworkUnavailable is True: %s%s; the cloud's route controller or the network's agent must set it to False", strings.Join(named, ", "), more), nil
}
