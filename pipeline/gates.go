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

// FeatureGates are those of all plugins, sorted by name.
func (p *Pipeline) FeatureGates() []plugin.FeatureGate {
	byName := map[string]plugin.FeatureGate{}
	for _, networkType := range p.Types() {
		for _, gate := range p.plugins[networkType].FeatureGates {
			byName[gate.Name] = gate
		}
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b plugin.FeatureGate) int { return cmp.Compare(a.Name, b.Name) })
}

// CheckFeatureGates refuses gates that no plugin has: a switch that is misspelt
// would do nothing, and nobody would know.
func (p *Pipeline) CheckFeatureGates(path *field.Path, gates map[string]bool) field.ErrorList {
	var names []string
	for _, gate := range p.FeatureGates() {
		names = append(names, gate.Name)
	}
	there := "is not a feature gate; there are none"
	if len(names) > 0 {
		there = "is not a feature gate; there are " + strings.Join(names, ", ")
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		if !slices.Contains(names, name) {
			errs = append(errs, field.Invalid(path.Key(name), fmt.Sprint(gates[name]), there))
		}
	}
	return errs
}

// featureGates are the gates that are stated, and those of the plugin that are on
// by default.
func (p *Pipeline) featureGates(networkType string, stated map[string]bool) map[string]bool {
	gates := stated
	for _, gate := range p.plugins[networkType].FeatureGates {
		if _, said := stated[gate.Name]; gate.Default && !said {
			if gates = maps.Clone(gates); gates == nil {
				gates = map[string]bool{}
			}
			gates[gate.Name] = true
		}
	}
	return gates
}
