// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/pipeline"
)

func TestTheSameRequestGivesTheSameBytes(t *testing.T) {
	for _, each := range matrix {
		t.Run(each.name, func(t *testing.T) {
			g := NewWithT(t)
			first, err := pipeline.Documents(build(t, each.config).Objects.Shoot)
			g.Expect(err).NotTo(HaveOccurred())
			for range 5 {
				again, err := pipeline.Documents(build(t, each.config).Objects.Shoot)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(string(again)).To(Equal(string(first)))
			}
		})
	}
}

// A plugin keeps nothing between calls, so nobody who changes what they got can
// change what others get.
func TestObjectsAreNotShared(t *testing.T) {
	g := NewWithT(t)
	want, err := pipeline.Documents(build(t, "").Objects.Shoot)
	g.Expect(err).NotTo(HaveOccurred())
	for _, object := range build(t, "").Objects.Shoot {
		object.SetLabels(map[string]string{"changed": "yes"})
		object.SetAnnotations(map[string]string{"changed": "yes"})
	}
	n := build(t, "")
	for _, labels := range []map[string]string{n.node().Labels, n.node().Spec.Template.Labels, n.node().Spec.Selector.MatchLabels} {
		labels["changed"] = "yes"
	}
	got, err := pipeline.Documents(build(t, "").Objects.Shoot)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(got)).To(Equal(string(want)))
}

// sorted returns the keys of a map, so that tests are deterministic too.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
