// SPDX-License-Identifier: Apache-2.0

package plugin

// Transitioner is implemented by a Definition some of whose changes are made in steps, each of which
// leaves running pods connected.
type Transitioner[C any] interface {
	// Transition returns the steps in which a network becomes another one; none where the change is
	// made at once. The last step has the config of after; those before it are configs of their own,
	// which the network can have for as long as it must. Values that have nothing to do with the
	// transition are those of after.
	//
	// The pipeline makes a change in steps only if each step is valid by the plugin's own rules, and
	// none is disruptive by the plugin's own classes after the one before it, nor is the first one after
	// the network as it is. From a step on, the steps that are left must be the same as before: the
	// operator asks again after each. It is called after Classify, for changes of which none is
	// Forbidden. The config of before may be one that an older release has made, without fields that
	// are new since.
	Transition(before, after State[C]) []Step[C]
}

// Step is one of the steps of a change.
type Step[C any] struct {
	// Name tells people how packets travel with the step, or what else it changes: "VXLAN between
	// subnets". The steps of one change have different names.
	Name   string
	Config *C
	// Precondition is what every node must show before the step begins; nil if that is nothing. Its
	// AppliesTo is not called. Whatever it is, a step begins only once the one before it is on all
	// nodes, and pods talk.
	Precondition *Precondition
}

// AnyStep is a Step whose config is of the type that the plugin's Decode and Clone return.
type AnyStep struct {
	Name         string
	Config       any
	Precondition *Precondition
}
