// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

const (
	// atRest is the time without writes after which no timer of a controller can cause
	// another write.
	atRest = 1300 * time.Millisecond
	// pause is the time without writes after which a test checks if a run has ended.
	pause = 150 * time.Millisecond
	// unseen is the time after which a test checks again even without a recorded write, since
	// Kubernetes' own controllers write too.
	unseen = time.Second
)

// reference runs the life once without disturbance, and returns the end of each scenario. It
// also checks that no write leaves an object unchanged. Only an undisturbed run can show that.
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
			w.Expect(w.written().unchanging(from)).To(BeEmpty(), "%s has writes that change nothing", s.name)
			if s.check != nil {
				s.check(w)
			}
			if !s.onTheWay {
				ran.scenarios.Add(1)
			}
			t.Logf("%s: %s takes %d writes", l.name, s.name, len(w.written())-from)
		}
		l.goldens = goldens
		if w.leave != nil {
			w.leave()
		}
	})
	if l.goldens == nil {
		t.Fatal("the undisturbed run failed; see the test that ran it")
	}
	return l.goldens
}

func (l *life) newWorld(t *testing.T) *world {
	if l.ofShoot {
		return newWorldOfShoot(t)
	}
	leave := func() {}
	if l.alone != nil {
		l.alone.Lock()
		leave = sync.OnceFunc(l.alone.Unlock)
		t.Cleanup(leave)
	}
	w := newWorld(t, l.trigger, l.plugins...)
	w.leave = leave
	w.kinds = l.kinds
	if l.rollsOut {
		w.rollOut()
	}
	return w
}

// prepare runs what comes before a scenario, and waits until the operator has reacted.
func (w *world) prepare(s *scenario) {
	if s.before == nil {
		return
	}
	s.before(w)
	w.beginToWait()
	w.awaitQuiet(atRest)
}

// mostWrites returns the largest number of writes of a scenario.
func (l *life) mostWrites(t *testing.T) int {
	most := 0
	for i, g := range l.reference(t) {
		if !l.course()[i].onTheWay {
			most = max(most, g.writes)
		}
	}
	return most
}

// lived runs a life. For each scenario, plan returns the disturbances of one process after the
// other. The processes after these are not disturbed. Each scenario must end as in the
// undisturbed life.
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
			t.Fatalf("%s violates invariants:\n%s", s.name, strings.Join(broken, "\n"))
		}
		if s.check != nil {
			s.check(w)
		}
	}
}

// endsAs waits until the world is as at the end of the undisturbed scenario, and replaces
// processes that die. It returns the last process, which it no longer disturbs. A process may
// not reach the write at which it would be killed, since some runs take fewer writes than the
// undisturbed one.
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
			continue // the process has died with a write after the snapshot
		}
		if time.Now().After(deadline) || w.quietFor() > *stuckAfter {
			w.t.Fatalf("%s does not end as the undisturbed run:\n%s", s.name, problem)
		}
		w.awaitNews(p, seen)
	}
}

// awaitNews waits, for a short time, until there is a write after a moment, or the process has
// died.
func (w *world) awaitNews(p *process, since int) {
	for begun := time.Now(); w.now() == since && time.Since(begun) < unseen; {
		select {
		case <-p.died:
			return
		case <-time.After(pause):
		}
	}
}

// awaitQuietOrDeath waits until there was no write for a while, or the process has died.
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

// disturb sets the disturbance of a process. It reports whether the process is alive.
func (t *transport) disturb(d disturbance) (alive bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.disturbance, t.writes, t.begun = d, 0, time.Now()
	return !t.dead
}
