// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/outcome"
)

// refuseSecond ends the run of a Network whose shoot has another one already (N38). What was
// asked for is kept until that is gone.
func (g gatherer) refuseSecond(ctx context.Context, run *run) outcome.Outcome {
	first, err := g.firstOf(ctx, run)
	switch {
	case err != nil:
		return outcome.TryAgain(err).Unreported()
	case first == run.Network.Name:
		return outcome.Continue()
	}
	if g.trigger == TriggerOperation && run.State != nil { // the end of the first is no request
		run.State.PendingRequest = g.mustBuild(run)
	}
	if err := g.putOff(ctx, run); err != nil {
		return outcome.TryAgain(err).Unreported()
	}
	return outcome.Fail(fmt.Errorf("the Network %q is the one of this namespace, since a shoot has only one: delete this Network, or that one if this one must replace it",
		first), corev1beta1.ErrorConfigurationProblem)
}

// firstOf returns the name of the Network that counts among those of a namespace. In a
// landscape it is the one that is named like the shoot. Otherwise it is one to which
// ManagedResources belong, or the oldest. It stays the first until it is gone: this process
// knows it before a cache shows what was written for it.
func (g gatherer) firstOf(ctx context.Context, run *run) (string, error) {
	networks, owners := append([]*extensionsv1alpha1.Network{run.Network}, run.others...), map[string]bool{}
	if len(run.others) > 0 {
		list := &resourcesv1alpha1.ManagedResourceList{}
		if err := g.client.List(ctx, list, client.InNamespace(run.Network.Namespace)); err != nil {
			return "", fmt.Errorf("list the ManagedResources of the shoot: %w", err)
		}
		for i := range list.Items {
			owners[list.Items[i].Labels[extensionsv1alpha1.NetworkLabel]] = true
		}
	}
	rank := func(n *extensionsv1alpha1.Network) int {
		switch {
		case !g.standalone && n.Name == run.Shoot.Name:
			return 0
		case owners[extensionsv1alpha1.NetworkLabelValue(n.Name)]:
			return 1
		}
		return 2
	}
	first := slices.MinFunc(networks, func(a, b *extensionsv1alpha1.Network) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return g.first.Update(run.Network.Namespace, func(known string, _ bool) (string, bool) {
		isThere := slices.ContainsFunc(networks, func(n *extensionsv1alpha1.Network) bool { return n.Name == known })
		if !isThere || rank(first) == 0 {
			known = first.Name
		}
		return known, true
	}), nil
}
