// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
)

// FeatureGates returns those of all plugins, sorted by name.
func (p *Pipeline) FeatureGates() []plugin.FeatureGate {
	byName := map[string]plugin.FeatureGate{}
	for _, networkType := range p.Types() {
		for _, gate := range p.plugins[networkType].FeatureGates {
			byName[gate.Name] = gate
		}
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b plugin.FeatureGate) int { return cmp.Compare(a.Name, b.Name) })
}

// ResolveFeatureGates adds to the stated gates those that are on by default. Programs call
// it once, when they start. It refuses gates that no plugin has, since a misspelt gate
// would silently have no effect.
func (p *Pipeline) ResolveFeatureGates(path *field.Path, stated map[string]bool) (map[string]bool, field.ErrorList) {
	gates := map[string]bool{}
	var names []string
	for _, gate := range p.FeatureGates() {
		names = append(names, gate.Name)
		if gate.Default {
			gates[gate.Name] = true
		}
	}
	there := "is not a feature gate; there are " + cmp.Or(strings.Join(names, ", "), "none")
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(stated)) {
		if !slices.Contains(names, name) {
			errs = append(errs, field.Invalid(path.Key(name), fmt.Sprint(stated[name]), there))
		}
	}
	maps.Copy(gates, stated)
	return gates, errs
}
