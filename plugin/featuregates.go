// SPDX-License-Identifier: Apache-2.0

package plugin

import "fmt"

// FeatureGate is a switch that the operator sets, for all networks of a plugin.
type FeatureGate struct {
	// Name of the gate in Environment.FeatureGates.
	Name string
	// Default is used where the operator sets nothing.
	Default bool
	// Stage is how far the feature is. Operators decide by it whether they want it.
	Stage Stage
	// Doc is what it does, in one line that begins with a verb.
	Doc string
	// Needs is what a cluster must have for it, and Against what is known against switching it.
	// Both are in docs/operate.md, and may be empty.
	Needs, Against string
}

// Stage is how far a feature is, as Kubernetes calls it.
type Stage string

const (
	// Alpha features may change, or go.
	Alpha Stage = "Alpha"
	// Beta features stay, but may change in details.
	Beta Stage = "Beta"
	// GA features stay as they are.
	GA Stage = "GA"
)

// String returns the gate as --help shows it.
func (g FeatureGate) String() string {
	return fmt.Sprintf("%s=true|false (default %t): %s", g.Name, g.Default, g.Doc)
}
