// SPDX-License-Identifier: Apache-2.0

package fairness

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
)

// moods are errors that mean something else each: to retry, to stop, or that the shoot's owner must act.
var moods = []struct {
	code   int
	reason metav1.StatusReason
}{
	{http.StatusInternalServerError, metav1.StatusReasonInternalError},
	{http.StatusForbidden, metav1.StatusReasonForbidden},
	{http.StatusUnprocessableEntity, metav1.StatusReasonInvalid},
	{http.StatusUnauthorized, metav1.StatusReasonUnauthorized},
	{http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable},
	{http.StatusConflict, metav1.StatusReasonConflict},
}

var answered atomic.Int64

// moody answers each request for objects with another message, and another code and reason than
// the one before. In between it answers as it should.
func moody(w http.ResponseWriter, r *http.Request, _ string) bool {
	if isDiscovery(r) || r.URL.Path == "/version" || isWatch(r) {
		return false
	}
	n := int(answered.Add(1))
	mood := n % (len(moods) + 1)
	if mood == len(moods) {
		return false
	}
	fails(moods[mood].code, moods[mood].reason, fmt.Sprintf("the %dth answer", n))(w, r)
	return true
}

// trios are hostile at once: in what they take of the workers, and of the memory.
var trios = [][]string{
	{"slow bytes", "answers after the deadline", "messages that always change"},
	{"a watch that floods", "endless pages", "huge discovery"},
}

// Three shoots that are hostile at once, each in its way, cost the others no more time than one,
// and each no more memory and log lines.
func TestThreeHostileShootsAtOnceHarmNoOther(t *testing.T) {
	if !*allWays {
		t.Skip("this takes minutes; make robustness runs it")
	}
	box := besieged.Get(t)
	l := newFleet(t, shoots, box.Seed.Kubeconfig, box.Shoots[0].Kubeconfig)
	l.operate(t, configv1alpha1.ModeStandalone, clock.RealClock{})
	l.change(t, shoots) // the first connections are not measured
	for _, names := range trios {
		var trio []*way
		for _, name := range names {
			for i := range ways {
				if ways[i].name == name {
					trio = append(trio, &ways[i])
				}
			}
		}
		l.Expect(trio).To(HaveLen(len(names)))
		l.together(t, trio)
	}
}

// together measures what it costs the others that the last shoots are hostile, each in its way.
func (l *fleet) together(t *testing.T, hostile []*way) {
	first := shoots - len(hostile)
	become := func(is bool) {
		for i, way := range hostile {
			if !is {
				way = nil
			}
			l.turn(first+i, way)
		}
	}
	var c cost
	calm := l.observe(t, first)
	c.calm.add(calm.times)
	for attempt := 0; attempt == 0 || attempt < attempts && c.ratio() > mostTimes; attempt++ {
		become(true)
		one, two := l.observe(t, first), l.observe(t, first)
		c.heap, c.limit = max(c.heap, two.heap-calm.heap), max(c.limit, max(one.limit, two.limit)-calm.limit)
		c.hostile.add(one.times)
		c.hostile.add(two.times)
		become(false)
		calm = l.observe(t, first)
		c.calm.add(calm.times)
	}
	lines := l.linesOf(t, hostile, time.Minute)
	names := ""
	for i, way := range hostile {
		names += fmt.Sprintf("%s (%d lines), ", way.name, lines[i])
		c.lines = max(c.lines, lines[i])
	}
	become(false)
	t.Logf("%s95th without %d ms, with %d ms: %.2f times; heap %+.0f MiB, up to %+.0f MiB", names,
		high(c.calm.done).Milliseconds(), high(c.hostile.done).Milliseconds(), c.ratio(), c.heap, c.limit)
	l.Expect(c.ratio()).To(BeNumerically("<=", mostTimes), "%s times of the others", names)
	l.Expect(c.heap).To(BeNumerically("<=", len(hostile)*mostMemory), "%s MiB in use", names)
	l.Expect(c.limit).To(BeNumerically("<=", len(hostile)*mostMemory), "%s MiB that the heap may have", names)
	l.Expect(c.lines).To(BeNumerically("<=", mostLines), "%s log lines", names)
}
