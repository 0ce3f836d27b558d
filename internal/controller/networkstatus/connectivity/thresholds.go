// SPDX-License-Identifier: Apache-2.0

package connectivity

import "time"

// From when on something fails, passes or is unknown. A probe tests a target every ten seconds,
// takes it for failing after two failed attempts in succession, and reports that within ten
// seconds. All times since a failure count from the first attempt that failed.
//
// Loss is not counted in packets. A lost packet is repeated by TCP within an attempt, and an
// attempt that fails alone is forgotten: a node with 30 % loss in one direction, of whose attempts
// one in ten fails, keeps passing. Where attempts fail so often that three in succession do for
// half of a node's edges, or five for one edge, the test fails. Full segments are exchanged by each
// third attempt only, so an MTU that is too small takes up to 30 s more.
const (
	// nodeThreshold is how long at least half of the edges of a node, or of a test, two of them at
	// least, must have been failing for that to fail. A third attempt then has failed as well.
	nodeThreshold = 30 * time.Second
	// pairThreshold is how long an edge must have been failing for a test to fail because of it
	// alone. Four or five attempts then have failed. It leaves time for the full segments that only
	// each third attempt exchanges.
	pairThreshold = 50 * time.Second
	// minEdges is the least number of failing edges that nodeThreshold is for.
	minEdges = 2
	// repairThreshold is how long nothing of a test may have failed for it to pass again.
	repairThreshold = 20 * time.Second
	// unknownThreshold is how long too little must have been known for a result to go.
	unknownThreshold = 30 * time.Second
	// staleAfter is the age from which a report shows nothing. Probes report every minute.
	staleAfter = 2 * time.Minute
	// withheldAfter is the time within which a probe that reaches the API server has reported what
	// fails: two attempts, the longest timeouts of both, and ten seconds between reports.
	withheldAfter = 45 * time.Second
	// joinPeriod is how long a new node is not missed, and its edges do not count as failing that
	// have not worked yet.
	joinPeriod = 3 * time.Minute
	// provenAfter is the number of successful attempts after which an edge of a new node counts
	// as failing. They take half a minute.
	provenAfter = 3
	// goneAfter is how long a kubelet must have been silent for its node to be gone. Kubernetes
	// evicts pods after the same time. Until then a node that died has failed, as one has whose
	// link is down: the probes cannot tell them apart.
	goneAfter = 5 * time.Minute
	// tolerance is the divisor of the share of nodes that may be silent, a tenth, and one node at
	// least that may be gone: more is no wear and tear, but an outage of the network or of the
	// probes.
	tolerance = 10
	// outageThreshold is how long the last verdict stays while the shoot's API server does not
	// answer.
	outageThreshold = time.Minute
	// restartPeriod is how long the results that an operator finds in the status when it starts stay
	// without evidence. By then each probe has reported again. How old earlier reports are, it knows
	// only by the clocks of the nodes.
	restartPeriod = 90 * time.Second
)

// How often a verdict is found and written.
const (
	// period is how often the evidence is examined at least.
	period = 30 * time.Second
	// writePeriod is the time in which there is one write of the status. Figures and texts wait for
	// as long after they have changed, and until no write is used up in advance. Results may use up
	// one in advance, so that what fails is told in time although figures have just been written, and
	// that all tests pass again two, since a fault often costs two writes.
	writePeriod = time.Minute
	// gatherFailures is how long a test that begins to fail waits for others, from the first result on
	// that turns: what breaks makes several tests fail, within seconds of each other, as probes test and
	// report every ten seconds. Where others fail already, gatherMore is how long it waits for the repair:
	// probes that test again report within that time, and then there is nothing more to tell. gatherOthers
	// is how long other results wait, which are rarely all that is told: soon all tests pass. Then, or
	// without any result, there is nothing to wait for.
	gatherFailures = 7 * time.Second
	gatherMore     = 15 * time.Second
	gatherOthers   = 20 * time.Second
	// evidenceStep is the step in which the time of the evidence is written.
	evidenceStep = time.Hour
	// A shoot without the kind of the reports is asked for it after firstKindPeriod, then after twice
	// that, up to kindPeriod: in a new shoot it is there soon, in one without probes never.
	firstKindPeriod = 5 * time.Second
	kindPeriod      = time.Minute
)

// What a verdict has at most.
const (
	maxWorst = 10
	maxNamed = 3   // nodes in a message
	maxText  = 128 // bytes of each name and error
)
