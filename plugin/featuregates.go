// SPDX-License-Identifier: Apache-2.0

package plugin

import "fmt"

// FeatureGate is a switch that the operator sets, for all networks of a plugin.
type FeatureGate struct {
	// Name of the gate in Environment.FeatureGates.
	Name string
	// Default is used where the operator sets nothing.
	Default bool
	// Doc is what it does, in one line that begins with a verb.
	Doc string
}

// String returns the gate as --help shows it.
func (g FeatureGate) String() string {
	return fmt.Sprintf("%s=true|false (default %t): %s", g.Name, g.Default, g.Doc)
}
