// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"fmt"
	"os"
	"sync"
	"text/tabwriter"
	"time"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/standalone"
)

// The limits are those of docs/connectivity.md.
const (
	nodeFails = 60 * time.Second
	pairFails = 90 * time.Second
	repaired  = 60 * time.Second
)

// starts is how long it may take from the Shoot until its pods talk. No document promises a time: images
// are unpacked meanwhile, and a machine may have little left for it.
const starts = 10 * time.Minute

// beforeFault and beforeRepair are for how long writes of the status may be used up in advance when
// something breaks that must be told within a time, or is mended. Neither is known within 20 s, and
// the status is written once they are used up for a minute at most. What may take minutes waits for
// nothing.
const (
	beforeFault  = 80 * time.Second
	beforeRepair = 65 * time.Second
)

// restsBefore waits until a fault that must be told within that time can be.
func (l *landscape) restsBefore(within time.Duration) {
	l.t.Helper()
	if within <= pairFails {
		l.rests(beforeFault)
	}
}

// fault is something that breaks, and what the status must tell of it.
type fault struct {
	name          string
	breaks, mends func() error
	verdict       string
	within        time.Duration
	// soon is the part of the verdict that must be there within nodeFails, if not all of it.
	soon string
	// message is a regular expression for all of the condition's message, after its reason.
	message string
}

// suffers breaks something, expects the verdict in time, mends it, and expects that all is well
// again in time, with few writes of the status.
func (l *landscape) suffers(f fault) {
	l.t.Helper()
	l.restsBefore(f.within)
	var began time.Time
	var after, again time.Duration
	undisturbed(func() {
		began = time.Now()
		l.Expect(f.breaks()).To(Succeed())
		if f.soon != "" {
			l.becomes(ContainSubstring(f.soon), nodeFails)
		}
		l.becomes(Equal(f.verdict), f.within-time.Since(began))
		after = time.Since(began)
	})
	// Nodes that notice a moment later, and others that suffer for a moment, are told when the status is
	// written again: a minute after it has changed, and after the writes that are used up.
	l.Eventually(l.message).WithTimeout(2*beforeRepair).WithPolling(100*time.Millisecond).Should(MatchRegexp("^("+f.message+")$"), l.evidence)
	message := l.message()
	l.rests(beforeRepair)
	undisturbed(func() {
		l.Expect(f.mends()).To(Succeed())
		again = l.becomes(Equal(standalone.AllWell), repaired)
	})
	faults.add(row{f.name, f.verdict, after, again, len(l.writes.since(began))})
	l.expectFewWrites(l.shoot.Applied)
	l.t.Logf("%s: %s", f.name, message)
}

// bears expects that the verdict ends with these results for a while, whatever is wrong.
func (l *landscape) bears(name string, lasts time.Duration, results string) {
	l.t.Helper()
	began := time.Now()
	var otherwise time.Duration // for how long it was not true
	last := began
	l.Consistently(func() string {
		verdict, now := l.verdict(), time.Now()
		if verdict != standalone.AllWell {
			otherwise += now.Sub(last)
		}
		last = now
		return verdict
	}).WithTimeout(lasts).Should(HaveSuffix(results), l.evidence)
	verdict := "stays True"
	if otherwise > 0 {
		verdict = fmt.Sprintf("stays %s, for %s False", results, seconds(otherwise))
	}
	faults.add(row{fault: name, verdict: verdict, writes: len(l.writes.since(began))})
	l.expectFewWrites(began)
}

// row is one line of the table.
type row struct {
	fault, verdict string
	// after is the time from the fault to the verdict, and again that from the repair until all is
	// well again. 0 means that the verdict did not change.
	after, again time.Duration
	// writes is how often the status was written with another verdict, or with other figures of it.
	writes int
}

// table is what all tests have found.
type table struct {
	lock sync.Mutex
	rows []row
}

var faults table

func (t *table) add(r row) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.rows = append(t.rows, r)
}

func (t *table) print() {
	if len(t.rows) == 0 {
		return
	}
	w := tabwriter.NewWriter(os.Stderr, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FAULT\tVERDICT\tAFTER THE FAULT\tAFTER THE REPAIR\tWRITES OF THE VERDICT")
	for _, r := range t.rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\n", r.fault, r.verdict, seconds(r.after), seconds(r.again), r.writes)
	}
	w.Flush()
}

func seconds(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
