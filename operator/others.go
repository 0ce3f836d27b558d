// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/shoot"
)

// isOthers reports whether another operator looks after what is in a control-plane namespace.
type isOthers = func(ctx context.Context, controlPlane string) bool

// others returns whose control planes are, standalone: labelled as the label of the namespace
// tells, and byType as the types of the Networks tell where there is no label, since there is no
// Shoot. In a landscape both are nil: the types alone decide about Networks, and Gardener
// registers one extension for each.
func (o *Options) others(seed client.Reader, mode configv1alpha1.Mode, serves func(networkType string) bool) (labelled, byType isOthers) {
	if mode != configv1alpha1.ModeStandalone {
		return nil, nil
	}
	labelled = func(ctx context.Context, controlPlane string) bool {
		by := shoot.OperatorOf(ctx, seed, controlPlane)
		return by != "" && by != o.Name
	}
	byType = func(ctx context.Context, controlPlane string) bool {
		if by := shoot.OperatorOf(ctx, seed, controlPlane); by != "" {
			return by != o.Name
		}
		list := &extensionsv1alpha1.NetworkList{}
		if err := seed.List(ctx, list, client.InNamespace(controlPlane)); err != nil || len(list.Items) == 0 {
			return false
		}
		return !slices.ContainsFunc(list.Items, func(n extensionsv1alpha1.Network) bool { return serves(n.Spec.Type) })
	}
	return labelled, byType
}
