// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
)

// Gates are resolved once, by whoever starts; what a Request states is what counts.
func TestFeatureGatesAreAsStatedOrAsByDefault(t *testing.T) {
	p := &Pipeline{plugins: map[string]plugin.Plugin{"string": {Description: plugin.Description{
		Type: "string", FeatureGates: []plugin.FeatureGate{{Name: "Loose"}, {Name: "Taut", Default: true}},
	}}}}
	for name, test := range map[string]struct {
		stated, resolved map[string]bool
		wrong            string
	}{
		"nothing stated":     {nil, map[string]bool{"Taut": true}, ""},
		"the other way":      {map[string]bool{"Taut": false, "Loose": true}, map[string]bool{"Taut": false, "Loose": true}, ""},
		"one that is not":    {map[string]bool{"Tight": true}, map[string]bool{"Taut": true, "Tight": true}, `gates[Tight]: Invalid value: "true": is not a feature gate; there are Loose, Taut`},
		"one as by default":  {map[string]bool{"Taut": true}, map[string]bool{"Taut": true}, ""},
		"one off by default": {map[string]bool{"Loose": false}, map[string]bool{"Loose": false, "Taut": true}, ""},
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
