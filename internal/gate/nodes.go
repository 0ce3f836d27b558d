// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/plugin"
)

// Nodes is closed until each node of the shoot has the condition that the plugin states
// as the precondition of the objects. A shoot without nodes has nothing that could be
// interrupted, and a hibernated one has none.
type Nodes struct {
	Shoots shootclient.Access
	// MaxAge is how long ago the shoot may have answered last.
	MaxAge time.Duration
}

var _ Gate = Nodes{}

// Check implements Gate.
func (g Nodes) Check(ctx context.Context, plan Plan) (Verdict, error) {
	wanted := plan.Built.Precondition
	if wanted == nil || plan.Shoot.IsHibernated() {
		return Open(), nil
	}
	present, known, err := plan.Present(ctx)
	if err != nil {
		return Verdict{}, fmt.Errorf("read the network's present objects: %w", err)
	}
	if known {
		needed, err := wanted.IsNeeded(plan.Network.Spec.Type, present)
		if err != nil || !needed {
			return Open(), err
		}
	}
	unmet, err := Unmet(ctx, g.Shoots, plan.Network.Namespace, wanted, g.MaxAge)
	if err != nil {
		return Verdict{}, fmt.Errorf("check the nodes before changing the network (%s): %w", wanted.Explanation, err)
	}
	if unmet != nil {
		return Verdict{Closed: fmt.Errorf("the network is not changed until each node has the condition %s=%s with the reason %s, because %s: %w",
			wanted.Condition, wanted.Status, wanted.Reason, wanted.Explanation, unmet)}, nil
	}
	return Open(), nil
}

// Unmet returns what a node of the shoot in a namespace lacks of a precondition; nil if each node fulfils it. The shoot
// must have answered within maxAge.
func Unmet(ctx context.Context, shoots shootclient.Access, namespace string, wanted *plugin.Precondition, maxAge time.Duration) (unmet, err error) {
	shoot, err := shoots.For(ctx, namespace)
	if err != nil {
		return nil, err
	}
	nodes := &corev1.NodeList{}
	if err = shoot.Confirm(ctx, maxAge); err == nil {
		err = shoot.Reader.List(ctx, nodes, client.UnsafeDisableDeepCopy)
	}
	if err != nil {
		return nil, shoot.Failure(err)
	}
	for i := range nodes.Items {
		if unmet := wanted.Unmet(&nodes.Items[i]); unmet != nil {
			return unmet, nil
		}
	}
	return nil, nil
}
