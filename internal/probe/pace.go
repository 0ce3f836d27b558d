// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"slices"
	"time"
)

const (
	// firstRefresh is the time between the first two reads of the peers. Each following one is twice
	// as long, until it is that of refreshPeriod: after the start of a cluster the peers are many
	// only after a while.
	firstRefresh = 5 * time.Second
	// peersPerMinute is the number of peers for which one more minute passes between two reads.
	peersPerMinute = 100
	maxRefresh     = 10 * time.Minute
	// haste is how many times more often peers are read while one of them fails.
	haste = 3
	// firstRetry is the time until a failed request is repeated, and maxRetry that after many.
	// The verdict must see within a minute that a network was repaired. If the API server asks
	// for more, it is maxAsked at most.
	firstRetry = 5 * time.Second
	maxRetry   = 20 * time.Second
	maxAsked   = time.Minute
)

// refreshPeriod returns the time between two reads of the peers: a minute for each started
// hundred of them, ten at most. A list grows with the number of peers, and so does the number
// of probes that read it: so the bytes that all probes read in a minute grow with the number of
// nodes, not with its square, up to 1,000 nodes.
func refreshPeriod(peers int) time.Duration {
	return min(maxRefresh, time.Duration(peers/peersPerMinute+1)*time.Minute)
}

// nextRefresh returns the time until the next read, after so many successful ones.
func nextRefresh(reads, peers int) time.Duration {
	period := refreshPeriod(peers)
	if early := firstRefresh << min(reads, 10); early < period {
		return early
	}
	return period
}

// retry returns the time until a request is repeated that has failed so often in succession, and
// for which the API server asked to wait at least so long. chance is from 0 to 1: probes that
// failed together do not come back together.
func retry(failures int, asked time.Duration, chance float64) time.Duration {
	delay := min(maxRetry, firstRetry<<min(failures-1, 10))
	return max(min(asked, maxAsked), delay/2+time.Duration(chance*float64(delay)/2))
}

// pace decides when to report.
type pace struct {
	// gap is the least time between two reports, and interval that between two without news.
	gap, interval time.Duration
	// chance returns a number from 0 to 1.
	chance func() float64

	// earliest is the time of a report with news, and latest that of one without.
	earliest, latest time.Time
	failures         int // since the last success

	// What the last report has.
	reported int
	failing  []Target
}

// begin lets the first report come after a gap, when most targets have been tested.
func (p *pace) begin(now time.Time) {
	p.earliest, p.latest = now.Add(p.gap), now.Add(p.gap)
}

// succeeded counts a report about these targets.
func (p *pace) succeeded(now time.Time, all []Tested) {
	p.failures, p.reported, p.failing = 0, len(tried(all)), failing(all)
	p.earliest = now.Add(p.gap)
	p.latest = now.Add(p.interval - time.Duration(p.chance()*deviation*float64(p.interval)))
}

// failed counts a report that could not be written. The next attempt comes as retry says.
func (p *pace) failed(now time.Time, asked time.Duration) {
	p.failures++
	p.earliest = now.Add(retry(p.failures, asked, p.chance()))
	p.latest = p.earliest
}

// next returns the time of the next report. News are that another target fails or none does any
// more, and that more targets have been tested than the last report has. A rotating
// peer that replaces another one is no news.
func (p *pace) next(all []Tested) time.Time {
	if len(tried(all)) > p.reported || !slices.Equal(failing(all), p.failing) {
		return p.earliest
	}
	return p.latest
}

// tried returns the targets with a complete attempt.
func tried(all []Tested) []Tested {
	return slices.DeleteFunc(slices.Clone(all), func(one Tested) bool { return one.attempts == 0 })
}

// failing returns the targets that fail, sorted.
func failing(all []Tested) []Target {
	var found []Target
	for _, one := range all {
		if one.IsFailing() {
			found = append(found, one.Target)
		}
	}
	slices.SortFunc(found, Target.compare)
	return found
}
