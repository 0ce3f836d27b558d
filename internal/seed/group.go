// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"cmp"

	"github.com/trellis-network/trellis/plugin"
)

// Group is one of the sets of objects that a network consists of. Each travels in a
// ManagedResource of its own. The main one is always there, and is the only one that a
// Network waits for.
type Group int

// The groups, and how many there are.
const (
	Main Group = iota
	Later
	InSeed
	Admission
	Groups
)

// Removal is the order in which groups are deleted: what changes or refuses objects in
// the shoot first, what needs others there before those, the seed's last.
var Removal = []Group{Admission, Later, Main, InSeed}

var phases = map[Group]int{
	Main: plugin.NetworkPhase, Later: plugin.ExtrasPhase, InSeed: plugin.SeedPhase, Admission: plugin.AdmissionPhase,
}

// seedClass makes a resource manager apply objects in the seed itself.
const seedClass = "seed"

// ManagedResource is the name of the group's ManagedResource.
func (g Group) ManagedResource(definition *plugin.Plugin) string {
	switch g {
	case Later:
		return definition.ManagedResource + "-later"
	case InSeed:
		return definition.ManagedResource + "-seed"
	case Admission:
		return cmp.Or(definition.AdmissionResource, definition.ManagedResource+"-admission")
	default:
		return definition.ManagedResource
	}
}

// Class is that of the group's ManagedResource.
func (g Group) Class() string {
	if g == InSeed {
		return seedClass
	}
	return ""
}

// Stays says that the group's objects stay in the shoot when its control plane moves
// to another seed.
func (g Group) Stays() bool { return g == Main || g == Later }

// Of are the group's among a network's objects.
func (g Group) Of(objects *plugin.Objects) []plugin.Object {
	for _, bundle := range objects.Bundles {
		if phase, ok := phases[g]; ok && bundle.Phase == phase {
			return bundle.Objects
		}
	}
	return nil
}

// NamesOf are the names of the ManagedResources of some groups.
func NamesOf(definition *plugin.Plugin, some []Group) []string {
	names := make([]string, len(some))
	for i, each := range some {
		names[i] = each.ManagedResource(definition)
	}
	return names
}
