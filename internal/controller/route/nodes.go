// SPDX-License-Identifier: Apache-2.0

package route

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/outcome"
)

// The reasons of the condition NetworkUnavailable, as the route controller of Kubernetes has them.
const (
	routeCreated   = "RouteCreated"
	noRouteCreated = "NoRouteCreated"
)

// maxMarked is how many nodes get their condition in one pass, and maxCondition how many bytes its
// message has.
const maxMarked, maxCondition = 100, 500

// isRouteCreated reports whether a node's condition says that it has its routes.
func isRouteCreated(node *corev1.Node) bool {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeNetworkUnavailable {
			return c.Status == corev1.ConditionFalse && c.Reason == routeCreated
		}
	}
	return false
}

// mark brings the conditions of the nodes in line with the routes that were seen, not with those that
// were made just now. A node that never had routes keeps what others say: its network may do without
// them.
func (r *reconciler) mark(ctx context.Context, run *run) outcome.Outcome {
	var failed error
	marked := 0
	for i := range run.nodes {
		node := run.nodes[i].node
		lacks, isLacking := run.plan.without[node.Name]
		isBeingMade := isLacking && lacks.reason == "" && len(run.failed) == 0
		if lacks.unknown || isBeingMade || isLacking != isRouteCreated(node) {
			continue
		}
		if marked++; marked > maxMarked {
			run.unmarked++
			continue
		}
		wanted := corev1.NodeCondition{
			Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: routeCreated, Message: "Trellis has made the routes to the node's pods",
		}
		if isLacking {
			if lacks.reason == "" {
				lacks.reason = worst(run.failed).Error()
			}
			wanted.Status, wanted.Reason = corev1.ConditionTrue, noRouteCreated
			wanted.Message = condition.Shorten("A route to the node's pods is missing: "+lacks.reason, maxCondition)
		}
		if err := r.setCondition(ctx, run.cluster.Client, node, wanted); err != nil && failed == nil {
			failed = &shootError{fmt.Errorf("set the condition %s of the node %s: %w", wanted.Type, quoted(node.Name), run.cluster.Failure(err))}
		}
	}
	if failed != nil {
		return r.failure(run, failed)
	}
	return outcome.Continue()
}

// setCondition sets a condition of a node, unless another node has its name by now.
func (r *reconciler) setCondition(ctx context.Context, c client.Client, node *corev1.Node, wanted corev1.NodeCondition) error {
	now := metav1.NewTime(r.options.Clock.Now())
	wanted.LastHeartbeatTime, wanted.LastTransitionTime = now, now
	return patchCondition(ctx, c, node, wanted)
}

// unmark removes the conditions that say that nodes have their routes, which are about to be removed.
// Whether their network needs them is not known.
func (r *reconciler) unmark(ctx context.Context, run *run) outcome.Outcome {
	for i := range run.nodes {
		node := run.nodes[i].node
		if len(run.nodes[i].ranges) == 0 || !isRouteCreated(node) {
			continue
		}
		removal := map[string]string{"$patch": "delete", "type": string(corev1.NodeNetworkUnavailable)}
		if err := patchCondition(ctx, run.cluster.Client, node, removal); err != nil {
			return r.failure(run, &shootError{fmt.Errorf("remove a condition of the node %s: %w", quoted(node.Name), run.cluster.Failure(err))})
		}
	}
	return outcome.Continue()
}

// patchCondition patches the list of a node's conditions, of which others write the other ones.
func patchCondition(ctx context.Context, c client.Client, node *corev1.Node, entry any) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": node.UID}, "status": map[string]any{"conditions": []any{entry}},
	})
	if err != nil {
		return err
	}
	target := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name}}
	err = c.Status().Patch(ctx, target, client.RawPatch(types.StrategicMergePatchType, patch))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the node is gone
	}
	return err
}
