// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
)

// Gates are resolved once, when a program starts; what a Request states is what counts.
func TestFeatureGatesAreAsStatedOrAsByDefault(t *testing.T) {
	p := &Pipeline{plugins: map[string]plugin.Plugin{"noop": {Description: plugin.Description{
		Type: "noop", FeatureGates: []plugin.FeatureGate{{Name: "Experimental"}, {Name: "Stable", Default: true}},
	}}}}
	for name, test := range map[string]struct {
		stated, resolved map[string]bool
		wrong            string
	}{
		"nothing stated":     {nil, map[string]bool{"Stable": true}, ""},
		"the other way":      {map[string]bool{"Stable": false, "Experimental": true}, map[string]bool{"Stable": false, "Experimental": true}, ""},
		"one that is not":    {map[string]bool{"Missing": true}, map[string]bool{"Stable": true, "Missing": true}, `gates[Missing]: Invalid value: "true": is not a feature gate; there are Experimental, Stable`},
		"one as by default":  {map[string]bool{"Stable": true}, map[string]bool{"Stable": true}, ""},
		"one off by default": {map[string]bool{"Experimental": false}, map[string]bool{"Experimental": false, "Stable": true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			resolved, errs := p.ResolveFeatureGates(field.NewPath("gates"), test.stated)
			g.Expect(resolved).To(Equal(test.resolved))
			if test.wrong == "" {
				g.Expect(errs).To(BeEmpty())
			} else {
				g.Expect(errs.ToAggregate()).To(MatchError(test.wrong))
			}
		})
	}
}
