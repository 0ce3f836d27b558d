// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

// usual is which of a scenario's writes an ordinary run kills at: every so many.
const usual = 8

// Invariant 6: the process may die with any write, before it arrives or after, and
// the next one ends in the same state. The k-th write of the first process lands
// and is its last; the first write of the second one, which is the k+1st as a rule,
// is lost; the third one may go on. So for each k each variant is met once.
func TestKilledAtAnyWrite(t *testing.T) {
	for _, l := range lives {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			for k := 1; k <= l.mostWrites(t); k++ {
				if k%usual != 1 && !*all {
					continue
				}
				t.Run(fmt.Sprint(k), func(t *testing.T) {
					t.Parallel()
					l.lived(t, func(s *scenario, g golden) []disturbance {
						if s.onTheWay || s.elsewhere && !*all || k > g.writes {
							return nil
						}
						if k == 1 {
							return []disturbance{{killAt: 1, lost: true}, {killAt: 1}, {killAt: 1, lost: true}}
						}
						return []disturbance{{killAt: k}, {killAt: 1, lost: true}}
					})
				})
			}
		})
	}
}

// Invariant 5: a process that finds all done writes nothing.
func TestTheNextProcessHasNothingToDo(t *testing.T) {
	for i, l := range lives {
		if i > 0 && !*all {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			l.reference(t)
			w := l.newWorld(t)
			p := w.start(disturbance{})
			for i, s := range l.course() {
				w.prepare(s)
				s.act(w)
				p = w.endsAs(s, l.goldens[i], p, nil)
				p.stop()
				w.awaitQuiet(pause)
				before := len(w.written())
				p = w.start(disturbance{})
				w.calm()
				w.Expect(w.written().unexpected(before)).To(BeEmpty(), s.name)
			}
		})
	}
}
