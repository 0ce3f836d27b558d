// SPDX-License-Identifier: Apache-2.0

package plugin

import "fmt"

// FeatureGate is a switch of the operator's, for all networks of a plugin.
type FeatureGate struct {
	// Name of the gate, as it stands in Facts.FeatureGates.
	Name string
	// Default says whether it is on where nobody says.
	Default bool
	// Doc is what it does, in one line that begins with a verb.
	Doc string
}

// String is the gate as --help shows it.
func (g FeatureGate) String() string {
	return fmt.Sprintf("%s=true|false (default %t): %s", g.Name, g.Default, g.Doc)
}
