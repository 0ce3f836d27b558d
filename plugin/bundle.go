// SPDX-License-Identifier: Apache-2.0

package plugin

import "slices"

// Target is the cluster that objects are applied in.
type Target string

const (
	// Shoot is the user's cluster.
	Shoot Target = "shoot"
	// Seed is the cluster of the control plane. Objects for it belong into the shoot's
	// control-plane namespace.
	Seed Target = "seed"
)

// Bundle is a set of objects that travel in one ManagedResource.
type Bundle struct {
	// Name of the ManagedResource. It stays the same across releases, and no other
	// bundle of the network has it.
	Name string
	// Target is where the objects are applied.
	Target Target
	// Objects may contain CRDs together with their custom resources. Their order is
	// one that a reader would like.
	Objects []Object
	// Await makes the Network's success wait until the bundle is applied.
	Await bool
	// KeepOnMigrate leaves the objects in place when the control plane moves to
	// another seed, which applies them again. The objects of other bundles are deleted.
	KeepOnMigrate bool
	// FollowsWebhook writes the bundle again whenever Webhook changes, without waiting
	// for a user or gardenlet to ask for a reconciliation.
	FollowsWebhook bool
	// Phase orders the bundles of a network: they are written in ascending phases and
	// deleted in descending ones, each phase once the ones above it are gone.
	Phase int
}

// Phases of the usual bundles.
const (
	// SeedPhase is for objects in the seed: they are there for as long as the network is.
	SeedPhase = 0
	// NetworkPhase is for the network itself.
	NetworkPhase = 10
	// ExtrasPhase is for objects in the shoot that need the network: definitions which one of
	// its own workloads brings, or agents that end pods.
	ExtrasPhase = 20
	// AdmissionPhase is for objects in the shoot that change or refuse other objects
	// there. They go first, so that they do not hinder the deletion of the rest.
	AdmissionPhase = 30
)

// NetworkBundle carries what a network consists of. The Network succeeds once it is
// applied.
func NetworkBundle(name string, objects []Object) Bundle {
	return Bundle{Name: name, Target: Shoot, Objects: objects, Await: true, KeepOnMigrate: true, Phase: NetworkPhase}
}

// ExtrasBundle carries objects that need definitions which one of the network's own
// workloads brings, so that no success can wait for them.
func ExtrasBundle(name string, objects []Object) Bundle {
	return Bundle{Name: name, Target: Shoot, Objects: objects, KeepOnMigrate: true, Phase: ExtrasPhase}
}

// AdmissionBundle carries webhook configurations and admission policies for the shoot.
// When the control plane moves they go, since they may point to the seed; the other
// seed brings its own.
func AdmissionBundle(name string, objects []Object) Bundle {
	return Bundle{Name: name, Target: Shoot, Objects: objects, FollowsWebhook: true, Phase: AdmissionPhase}
}

// SeedBundle carries objects for the control-plane namespace in the seed, such as
// monitoring.
func SeedBundle(name string, objects []Object) Bundle {
	return Bundle{Name: name, Target: Seed, Objects: objects, Phase: SeedPhase}
}

// Objects are what a network consists of. Bundles without objects are left out.
type Objects struct {
	Bundles []Bundle
	// Components are the workloads in the shoot whose health is reported.
	Components []Component
}

// NewObjects returns the bundles that have objects, and the components.
func NewObjects(components []Component, bundles ...Bundle) Objects {
	return Objects{
		Bundles:    slices.DeleteFunc(bundles, func(b Bundle) bool { return len(b.Objects) == 0 }),
		Components: components,
	}
}

// For returns the objects of all bundles for a target.
func (o Objects) For(target Target) []Object {
	var all []Object
	for _, bundle := range o.Bundles {
		if bundle.Target == target {
			all = append(all, bundle.Objects...)
		}
	}
	return all
}

// In returns the objects of the bundle of that name, nil if there is none.
func (o Objects) In(name string) []Object {
	for _, bundle := range o.Bundles {
		if bundle.Name == name {
			return bundle.Objects
		}
	}
	return nil
}
