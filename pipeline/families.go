// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// DualStackReady is the Shoot's constraint that delays a migration to dual-stack while it is
// not True (Gardener's contract).
const DualStackReady = "DualStackNodesMigrationReady"

// familiesNow returns the families to deploy now: the wanted ones, [IPv4] if there are none,
// and only the first one until all nodes are ready for two.
func familiesNow(network *extensionsv1alpha1.Network, shoot *corev1beta1.Shoot) []extensionsv1alpha1.IPFamily {
	wanted := network.Spec.IPFamilies
	if len(wanted) == 0 {
		return []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv4}
	}
	if shoot == nil || len(wanted) == 1 {
		return wanted
	}
	for _, constraint := range shoot.Status.Constraints {
		if constraint.Type == DualStackReady && constraint.Status != corev1beta1.ConditionTrue {
			return keepBoth(wanted[:1], wanted, network.Status.IPFamilies)
		}
	}
	return wanted
}

// keepBoth returns the families to deploy now in a network that has some deployed. Nodes
// that are not ready delay a second family, but never remove one: a node that joins late
// must not cut off the pods of all others. Only the user removes a family.
func keepBoth(now, wanted, deployed []extensionsv1alpha1.IPFamily) []extensionsv1alpha1.IPFamily {
	if len(wanted) > 1 && len(deployed) > 1 {
		return wanted
	}
	return now
}

// mayFollow reports whether a running network may get other families: IPv6 may join IPv4,
// and go again (Gardener's contract).
func mayFollow(before, after []extensionsv1alpha1.IPFamily) bool {
	beginsWithIPv4 := func(families []extensionsv1alpha1.IPFamily) bool {
		return len(families) == 0 || families[0] == extensionsv1alpha1.IPv4
	}
	return slices.Equal(before, after) || beginsWithIPv4(before) && beginsWithIPv4(after)
}

const wrongFamilies = "IPv6 may join IPv4 as the second family and go again, and nothing else; list the families as before, or create a new cluster"
