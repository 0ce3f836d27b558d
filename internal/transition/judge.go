// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/times"
)

const (
	// settleTime is how long pods must have been talking after the agents of all nodes run a step. The
	// status tells of what a step breaks within that time.
	settleTime = 90 * time.Second
	// dwellTime takes its place where no probes tell whether pods talk.
	dwellTime = 5 * time.Minute
	// period is how often a network that is on the way is looked at.
	period = 10 * time.Second
)

// Plan is the way that is left.
type Plan struct {
	// Present and Target identify the config that was written last, and the one that the spec asks for.
	Present, Target string
	// From and To are how packets travel before and after, for people.
	From, To string
	// Steps are the steps that are left, the last one the target. At the target there is none.
	Steps []Next
}

// Next is a step that is left.
type Next struct {
	// Name is for people, and Config identifies the config.
	Name, Config string
}

// Observation is what is known of the running network.
type Observation struct {
	// Applied reports that the shoot has what was written last.
	Applied bool
	// Agents are the DaemonSets of the network, and AgentsError why they cannot be read.
	Agents      []Agent
	AgentsError error
	// Connectivity is the condition that reports whether pods talk; nil if there is none.
	Connectivity *corev1beta1.Condition
	// WithoutProbes reports that nothing finds out whether pods talk.
	WithoutProbes bool
	// Unmet is what the nodes lack for the next step; nil if nothing.
	Unmet error
}

// Agent is how far a DaemonSet has been rolled out.
type Agent struct {
	// Nodes is how many nodes must run it, Updated on how many its latest version is, and Available
	// on how many any version works.
	Nodes, Updated, Available int32
	// Observed reports that these figures are about the latest version.
	Observed bool
}

// Done reports whether all nodes run the latest version.
func (a Agent) Done() bool {
	return a.Observed && a.Updated >= a.Nodes && a.Available >= a.Nodes
}

// Decision is what to do now.
type Decision struct {
	// Record is where the network stands; nil if it has arrived and is observed to be well.
	Record *Record
	// Advance reports that the first of the steps that are left may be written now. The Record is that
	// of the step. Otherwise, the network stays as it is.
	Advance bool
	// Again is after which time to decide again at the latest.
	Again time.Duration
}

// Judge decides whether the network goes on. record is where it stood, nil if it has not begun.
//
// The first step waits only for the roll-out of what was written before and for what it needs of the nodes, since it
// may be what mends the network. Each other step waits until the one before is applied and on all nodes, and
// until pods have been talking since. Where the way turns back to the config before the present step,
// nothing is waited for: nodes have that config already.
func Judge(record *Record, plan Plan, seen Observation, now time.Time) Decision {
	turnsBack := false
	if record == nil || record.Target != plan.Target {
		turnsBack = record != nil && len(plan.Steps) > 0 && record.Before == plan.Steps[0].Config
		record = begin(record, plan, now)
	}
	next := *record
	next.Steps = next.Step + len(plan.Steps)
	if n := len(plan.Steps); n > 0 {
		next.Last = plan.Steps[n-1].Name
	}
	if turnsBack {
		return next.advance(plan, now)
	}
	next.observe(seen, now)
	stays := Decision{Record: &next, Again: period}
	if next.Phase != "" {
		return stays
	}
	if left := next.unproven(seen, now); left > 0 {
		next.Phase, stays.Again = Verifying, min(left, period)
		return stays
	}
	switch {
	case len(plan.Steps) == 0:
		return Decision{}
	case seen.Unmet != nil:
		next.Phase, next.Unmet = WaitingForNodes, seen.Unmet.Error()
		return stays
	}
	return next.advance(plan, now)
}

// begin returns the Record of a network that has another target than before. What it has now is the
// beginning of the way there.
func begin(former *Record, plan Plan, now time.Time) *Record {
	record := &Record{Target: plan.Target, From: plan.From, To: plan.To, Since: seconds(now)}
	if former != nil { // the way begins at a step, which not all nodes may have yet
		record.Before = former.Before
	}
	return record
}

// observe sets the phase in which the step is that was written last; none if it has been on all nodes and pods
// talk as far as is known. Before the first step, it does not matter whether they do. Nodes that join later
// begin with the step.
func (r *Record) observe(seen Observation, now time.Time) {
	r.Phase, r.Unmet = "", ""
	if r.RolledOut != nil && r.RolledOut.After(now) { // the clock was set back
		r.RolledOut = nil
	}
	isDone := seen.Applied && seen.AgentsError == nil
	for _, agent := range seen.Agents {
		isDone = isDone && agent.Done()
	}
	if isDone && r.RolledOut == nil {
		at := seconds(now)
		r.RolledOut = &at
	}
	switch {
	case r.Step > 0 && seen.isLost():
		r.Phase = Halted
	case !seen.Applied:
		r.Phase = Applying
	case r.RolledOut == nil && seen.AgentsError != nil:
		r.Phase = Unobserved
	case r.RolledOut == nil:
		r.Phase = RollingOut
	}
}

// isLost reports whether pods are known not to talk.
func (o *Observation) isLost() bool {
	return o.hasPairs() && !o.WithoutProbes && o.Connectivity != nil && o.Connectivity.Status == corev1beta1.ConditionFalse
}

// hasPairs reports whether packets may travel between nodes. It takes two of them.
func (o *Observation) hasPairs() bool {
	nodes := int32(0)
	for _, agent := range o.Agents {
		nodes = max(nodes, agent.Nodes)
	}
	return len(o.Agents) == 0 || nodes > 1
}

// unproven returns how long it takes at least until it is certain that pods talk with the step that all nodes
// have; 0 if it is.
func (r *Record) unproven(seen Observation, now time.Time) time.Duration {
	if r.Step == 0 || !seen.hasPairs() {
		return 0
	}
	since, needed := r.RolledOut.Time, settleTime
	switch {
	case seen.WithoutProbes:
		needed = dwellTime
	case seen.Connectivity == nil || seen.Connectivity.Status != corev1beta1.ConditionTrue:
		return period
	default:
		since = times.Later(since, times.Earlier(seen.Connectivity.LastTransitionTime.Time, now))
	}
	return max(0, since.Add(needed).Sub(now))
}

// advance returns the Decision to write the first of the steps that are left.
func (r Record) advance(plan Plan, now time.Time) Decision {
	step := plan.Steps[0]
	r.Step, r.Name, r.Before = r.Step+1, step.Name, plan.Present
	r.Since, r.RolledOut, r.Phase, r.Unmet = seconds(now), nil, Applying, ""
	return Decision{Record: &r, Advance: true, Again: period}
}

func seconds(at time.Time) metav1.Time { return metav1.NewTime(at).Rfc3339Copy() }
