// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"reflect"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

// A new fact needs an entry among successors.
func TestEveryFactHasSuccessors(t *testing.T) {
	clusters := clustersFor(broken{}.make())
	for _, fact := range plugin.AllFacts() {
		t.Run(string(fact), func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(successors).To(HaveKey(fact), "add the values that may follow it to successors, in cluster.go")
			for i, change := range successors[fact] {
				ever := false
				for _, in := range clusters {
					before, after := in.input(nil, nil), in.input(nil, nil)
					change(&after)
					ever = ever || !reflect.DeepEqual(before.Value(fact), after.Value(fact))
					g.Expect(otherChanges(fact, before, after)).To(BeEmpty(), "successor %d in a cluster with %s", i, in.name)
				}
				g.Expect(ever).To(BeTrue(), "successor %d of %s changes it in no cluster", i, fact)
			}
		})
	}
	NewWithT(t).Expect(successors).To(HaveLen(len(plugin.AllFacts())))
}

// otherChanges are the facts that have changed beside the one that was meant to. Another
// IP family brings its ranges.
func otherChanges(meant plugin.Fact, before, after plugin.Input) []plugin.Fact {
	var others []plugin.Fact
	for _, fact := range plugin.AllFacts() {
		if fact != meant && meant != plugin.FactIPFamilies && !reflect.DeepEqual(before.Value(fact), after.Value(fact)) {
			others = append(others, fact)
		}
	}
	return others
}
