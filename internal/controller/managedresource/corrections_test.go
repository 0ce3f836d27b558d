// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

// However often others change an object, in no minute is it corrected more often than
// freeCorrections and the few with growing delays, and at least once a minute.
func TestCorrectionsBackOff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, id := newObservations("uid"), identity{}
		now := time.Unix(0, 0)
		var corrected []time.Time
		for range rapid.IntRange(1, 300).Draw(t, "changes") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20_000).Draw(t, "later")) * time.Millisecond)
			if o.dispute(id, now) != nil {
				continue
			}
			if n := len(corrected); n > 0 && now.Sub(corrected[n-1]) > lastRetry+20*time.Second {
				t.Fatalf("not corrected for %s", now.Sub(corrected[n-1]))
			}
			_ = o.correct(id, "them", now)
			if corrected = append(corrected, now); len(corrected) > freeCorrections+5 {
				if before := corrected[len(corrected)-freeCorrections-6]; now.Sub(before) < time.Minute {
					t.Fatalf("%d corrections within %s", freeCorrections+6, now.Sub(before))
				}
			}
		}
	})
}

func TestCorrectionsAreForgottenOnceAnObjectStaysAsItIs(t *testing.T) {
	g := NewWithT(t)
	o, id, now := newObservations("uid"), identity{}, time.Unix(0, 0)
	for range freeCorrections {
		g.Expect(o.correct(id, "them", now)).To(Succeed())
	}
	err := o.correct(id, "them", now)
	g.Expect(err).To(MatchError(HavePrefix("them has changed it more than 10 times")))
	g.Expect(o.dispute(id, now)).To(MatchError(err.Error()))
	g.Expect(o.dispute(id, now.Add(2*time.Second))).To(Succeed())
	g.Expect(o.correct(id, "them", now.Add(forgottenAfter+time.Second))).To(Succeed())
}
