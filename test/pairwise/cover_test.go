// SPDX-License-Identifier: Apache-2.0

package pairwise

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

func dimensionsOf(sizes []int) []Dimension {
	dimensions := make([]Dimension, len(sizes))
	for d, size := range sizes {
		dimensions[d].Name = fmt.Sprint("d", d)
		for v := range size {
			dimensions[d].Values = append(dimensions[d].Values, fmt.Sprint(v))
		}
	}
	return dimensions
}

func TestEachPairIsInARowOrLeftOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dimensions := dimensionsOf(rapid.SliceOfN(rapid.IntRange(1, 4), 2, 8).Draw(t, "sizes"))
		divisor := rapid.IntRange(2, 9).Draw(t, "divisor")
		valid := func(row Row) bool {
			sum := 0
			for d, v := range row {
				sum += (d + 1) * v
			}
			return sum%divisor != 1
		}
		rows, alone := Cover(dimensions, valid)
		leftOver := map[Pair]bool{}
		for _, pair := range alone {
			leftOver[pair] = true
		}
		for _, row := range rows {
			if !valid(row) {
				t.Fatalf("%v is not valid", row)
			}
		}
		for _, pair := range (&cover{dimensions: dimensions}).pairs() {
			covered := false
			for _, row := range rows {
				covered = covered || pair.in(row)
			}
			if covered == leftOver[pair] {
				t.Fatalf("%v is covered: %t, left over: %t", pair, covered, leftOver[pair])
			}
		}
	})
}

func TestRowsAreFewAndTheSameEachTime(t *testing.T) {
	g := NewWithT(t)
	dimensions := dimensionsOf([]int{3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2})
	all := func(Row) bool { return true }
	rows, alone := Cover(dimensions, all)
	g.Expect(alone).To(BeEmpty())
	g.Expect(len(rows)).To(BeNumerically("<", 40)) // of 60 million
	again, _ := Cover(dimensions, all)
	g.Expect(again).To(Equal(rows))
}

// Some pairs are only valid together with a third value.
func TestPairsThatNeedAThirdValueAreCovered(t *testing.T) {
	g := NewWithT(t)
	dimensions := dimensionsOf([]int{2, 2, 2, 2})
	rows, alone := Cover(dimensions, func(row Row) bool {
		return (row[0] == 0 || row[2] == 1) && (row[1] == 0 || row[3] == 1)
	})
	g.Expect(alone).To(ConsistOf(Pair{0, 1, 2, 0}, Pair{1, 1, 3, 0}))
	g.Expect(rows).To(ContainElement(Row{1, 1, 1, 1}))
}
