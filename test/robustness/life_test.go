// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

const (
	// atRest is after which time without writes no timer of a controller can be left
	// that leads to another one.
	atRest = 1300 * time.Millisecond
	// pause is after which time it is worth looking whether a run is at its end.
	pause = 150 * time.Millisecond
	// unseen is after which time it is worth looking although nothing was written:
	// Kubernetes' own controllers write, too.
	unseen = time.Second
)

// reference is a life that is not disturbed. It is run once, and shows what only
// such a run can: that nothing is written which is there already.
func (l *life) reference(t *testing.T) []golden {
	t.Helper()
	l.once.Do(func() {
		w := l.newWorld(t)
		w.start(disturbance{})
		var goldens []golden
		for _, s := range l.course() {
			w.prepare(s)
			from := len(w.written())
			s.act(w)
			s.finish(w)
			if !s.withoutNetwork {
				w.tidied()
			}
			w.awaitQuiet(atRest)
			goldens = append(goldens, golden{end: w.look(), writes: len(w.written()) - from})
			w.Expect(w.broken(s, from)).To(BeEmpty(), s.name)
			w.Expect(w.written().unchanging(from)).To(BeEmpty(), "%s writes what is there already", s.name)
			if s.check != nil {
				s.check(w)
			}
			if !s.onTheWay {
				ran.scenarios.Add(1)
			}
			t.Logf("%s: %s takes %d writes", l.name, s.name, len(w.written())-from)
		}
		l.goldens = goldens
	})
	if l.goldens == nil {
		t.Fatal("the undisturbed run failed; see where it was run")
	}
	return l.goldens
}

func (l *life) newWorld(t *testing.T) *world {
	w := newWorld(t, l.trigger)
	w.kinds = l.kinds
	return w
}

// prepare brings the world to where a scenario begins.
func (w *world) prepare(s *scenario) {
	if s.before == nil {
		return
	}
	s.before(w)
	w.beginToWait()
	w.awaitQuiet(atRest)
}

// mostWrites is the greatest number of writes that a scenario takes.
func (l *life) mostWrites(t *testing.T) int {
	most := 0
	for i, g := range l.reference(t) {
		if !l.course()[i].onTheWay {
			most = max(most, g.writes)
		}
	}
	return most
}

// lived runs a life. For each scenario, plan says how one process after the other
// is disturbed; what follows the last of them is not. Each scenario has to end as
// in the undisturbed life.
func (l *life) lived(t *testing.T, plan func(s *scenario, g golden) []disturbance) {
	t.Helper()
	goldens := l.reference(t)
	w := l.newWorld(t)
	p := w.start(disturbance{})
	for i, s := range l.course() {
		w.prepare(s)
		from := len(w.written())
		disturbances := plan(s, goldens[i])
		if len(disturbances) > 0 {
			p.disturb(disturbances[0])
			disturbances = disturbances[1:]
		}
		s.act(w)
		p = w.endsAs(s, goldens[i], p, disturbances)
		if broken := w.broken(s, from); len(broken) > 0 {
			t.Fatalf("%s breaks invariants:\n%s", s.name, strings.Join(broken, "\n"))
		}
		if s.check != nil {
			s.check(w)
		}
	}
}

// endsAs waits until things are as they have to be, and replaces processes that
// die. It returns the last one, undisturbed. A kill may come too late: not every
// run takes as many writes as the undisturbed one.
func (w *world) endsAs(s *scenario, g golden, p *process, next []disturbance) *process {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	w.beginToWait()
	for {
		w.awaitQuietOrDeath(p)
		if p.hasDied() {
			p.stop()
			ran.kills.Add(1)
			var d disturbance
			if len(next) > 0 {
				d, next = next[0], next[1:]
			}
			p = w.start(d)
			continue
		}
		seen := w.now()
		problem := difference(g.end, w.look())
		if problem == "" {
			if p.disturb(disturbance{}) {
				return p
			}
			continue // it has died with a write that came after the look
		}
		if time.Now().After(deadline) || w.quietFor() > *stuckAfter {
			w.t.Fatalf("%s does not end as if undisturbed:\n%s", s.name, problem)
		}
		w.awaitNews(p, seen)
	}
}

// awaitNews waits until something was written since a moment, or the process has
// died, but not for long.
func (w *world) awaitNews(p *process, since int) {
	for begun := time.Now(); w.now() == since && time.Since(begun) < unseen; {
		select {
		case <-p.died:
			return
		case <-time.After(pause):
		}
	}
}

// awaitQuietOrDeath waits until nothing was written for a while, or the process has
// died.
func (w *world) awaitQuietOrDeath(p *process) {
	for {
		left := pause - w.quietFor()
		if left <= 0 || p.hasDied() {
			return
		}
		select {
		case <-p.died:
		case <-time.After(left):
		}
	}
}

// disturb begins to disturb a process, unless that is dead already.
func (t *transport) disturb(d disturbance) (alive bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.disturbance, t.writes, t.begun = d, 0, time.Now()
	return !t.dead
}
