// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// The history returns the writes to one object in the order in which they landed, even if
// answers overtake each other, and though answers to deletions have no revision.
func TestHistoryHasTheOrderInWhichWritesLanded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h, underWay history
		moment, revision := 0, int64(0)
		landed := map[string][]*write{}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			moment++
			name := fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "object"))
			if len(underWay.named(name)) == 0 && rapid.Bool().Draw(t, "begin") {
				one := &write{name: name, began: moment}
				h, underWay = append(h, one), append(underWay, one)
				continue
			}
			if len(underWay) == 0 {
				continue
			}
			i := rapid.IntRange(0, len(underWay)-1).Draw(t, "answered")
			one := underWay[i]
			underWay = append(underWay[:i:i], underWay[i+1:]...)
			revision++
			one.ended, one.code = moment, 200
			if rapid.Bool().Draw(t, "revision") {
				one.revision = revision
			}
			landed[one.name] = append(landed[one.name], one)
		}
		before := h.before(&write{began: moment + 1})
		for name, want := range landed {
			if got := before.named(name); fmt.Sprint(got) != fmt.Sprint(history(want)) {
				t.Fatalf("object %s: %v instead of %v", name, got, want)
			}
		}
	})
}
