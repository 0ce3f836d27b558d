// SPDX-License-Identifier: Apache-2.0

package plugin

import corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"

// ShootDefaulter is implemented by a Definition that states values in the spec of Shoots. Such
// a value is for those who read the Shoot, as Gardener and the infrastructure's controllers do.
// What only the network depends on is a default of the config: see Default.
type ShootDefaulter interface {
	// DefaultShoot changes the spec of a Shoot that a user creates or updates, and of which
	// the spec has changed. old is the Shoot before the update, nil for one that is created.
	// The Shoot has workers, and is not being deleted. The fields that the type does not
	// have stay as they are. DefaultShoot leaves a config alone that it cannot decode, and a
	// second call changes nothing more. Warnings have the paths of the Shoot.
	//
	// A Shoot in a landscape is an order, which Gardener fulfils with what is stated there.
	// Standalone it describes a cluster that others have made: it must not be made to say what is
	// not so.
	DefaultShoot(old, shoot *corev1beta1.Shoot, in *Input) []Warning
}
