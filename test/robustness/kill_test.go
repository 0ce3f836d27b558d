// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

// usual is the distance between the writes at which an ordinary run kills the process.
const usual = 8

// Invariant 6 of docs/design.md: the process may die with any write, before or after the write
// lands, and the next process ends in the same state. The first process dies after its k-th
// write, which lands. The second process dies at its first write, which is usually write k+1
// and is lost. The third process is not killed. So each write is once the last that lands, and
// once the first that is lost.
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

// Invariant 5 of docs/design.md: a process that finds nothing to do writes nothing.
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
