// SPDX-License-Identifier: Apache-2.0

package components

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/controller/networkstatus/rollout"
	"github.com/trellis-network/trellis/internal/keyed"
)

const (
	// manyPods is the number of pods above which the pods of a roll-out are not read in
	// each check.
	manyPods = 500
	// rolloutPeriod is how long the analysis of a roll-out is used. It takes reading all
	// pods, and each pod changes its result.
	rolloutPeriod = 30 * time.Second
	// maxEvents is how many events are read to explain why a workload has no pods.
	maxEvents = 50
	// maxPages is in how many pages the pods of a workload are read.
	maxPages = 200
)

type rolloutKey struct {
	network   types.NamespacedName
	component string
}

// rolloutAnalysis is what was found out about the roll-out of a DaemonSet.
type rolloutAnalysis struct {
	daemonSet  types.UID
	generation int64
	// at is when it was found out.
	at time.Time
	// since is when the roll-out began that goes on; zero if none does.
	since time.Time
	// progress is when the roll-out last made progress.
	progress time.Time
	// stall describes what held it up; problem is that and the problem of the worst pod.
	stall   string
	problem problem
	// large reports whether there were more than manyPods.
	large bool
}

// explainer finds out in a shoot why the workloads of a network are unhealthy.
type explainer struct {
	live     client.Reader
	cached   client.Reader
	pageSize int64
	rollouts *keyed.Map[rolloutKey, rolloutAnalysis]
	network  types.NamespacedName
	now      time.Time
	// stalled reports whether a roll-out makes no progress.
	stalled bool
}

// explain returns why a workload is unhealthy: the problem of its worst pod, or why it
// has no pods, after what holds up its roll-out. The zero problem means that this
// cannot be found out, and the numbers must do.
func (e *explainer) explain(ctx context.Context, w workload) problem {
	if w.selector == nil {
		return problem{}
	}
	selector, err := metav1.LabelSelectorAsSelector(w.selector)
	if err != nil {
		return problem{}
	}
	pods := client.MatchingLabelsSelector{Selector: selector}
	last, recent := e.recentAnalysis(w)
	if recent && last.large {
		e.stalled = e.stalled || last.stall != ""
		return last.problem
	}
	var roll *rollout.Rollout
	if w.rollingOut != nil && !recent {
		// Without a revision only the pods are explained.
		roll, _ = rollout.Of(ctx, e.live, e.cached, w.rollingOut, pods)
	}
	worst, err := e.worstPod(ctx, w, pods, roll)
	if err != nil {
		return worst
	}
	stall := last.stall
	if !recent {
		stall = e.analyse(ctx, w, roll, worst)
	}
	e.stalled = e.stalled || stall != ""
	return worst.after(stall)
}

// recentAnalysis returns the last analysis of a workload's roll-out, and whether it is
// still to be used. Without a roll-out it is empty.
func (e *explainer) recentAnalysis(w workload) (rolloutAnalysis, bool) {
	if w.rollingOut == nil {
		return rolloutAnalysis{}, false
	}
	last, _ := e.rollouts.Get(e.key(w))
	return last, last.daemonSet == w.rollingOut.UID && last.generation == w.rollingOut.Generation && e.now.Sub(last.at).Abs() < rolloutPeriod
}

// analyse returns what holds up a roll-out to which all pods were added, and remembers
// it together with the problem of the worst pod.
func (e *explainer) analyse(ctx context.Context, w workload, roll *rollout.Rollout, worst problem) string {
	if roll == nil {
		return ""
	}
	if roll.Missing() > 0 {
		roll.RefusedSince(e.failedCreate(ctx, w).CreationTimestamp.Time)
	}
	last, _ := e.rollouts.Get(e.key(w))
	stall, progress, err := roll.Stall(last.progress, e.now)
	if err != nil {
		return ""
	}
	since, incomplete := roll.IncompleteSince()
	if !incomplete {
		since = time.Time{}
	}
	e.rollouts.Set(e.key(w), rolloutAnalysis{
		daemonSet: w.rollingOut.UID, generation: w.rollingOut.Generation, at: e.now, since: since,
		progress: progress, stall: stall, problem: worst.after(stall), large: roll.Pods() > manyPods,
	})
	return stall
}

func (e *explainer) key(w workload) rolloutKey { return rolloutKey{e.network, w.component.Name} }

// worstPod returns the problem of the worst pod, or why there are no pods. It adds all
// pods to a roll-out; without one it reads no more pages than it must.
func (e *explainer) worstPod(ctx context.Context, w workload, pods client.MatchingLabelsSelector, roll *rollout.Rollout) (problem, error) {
	var found problem
	for next, read := "", 0; ; read++ {
		if read == maxPages {
			return found, fmt.Errorf("the shoot lists the pods of the %s %s in more than %d pages", w.component.Kind, w.component.Workload, maxPages)
		}
		page := &corev1.PodList{}
		if err := e.live.List(ctx, page, client.InNamespace(w.component.Namespace), pods, client.Limit(e.pageSize), client.Continue(next)); err != nil {
			return found, err
		}
		if p := worstOf(page.Items); p.severity > found.severity {
			found = p
		}
		roll.Add(page.Items, e.now)
		if next = page.Continue; next == "" || roll == nil && found.severity > 0 {
			break
		}
	}
	if found.severity > 0 {
		return found, nil
	}
	if message := cmp.Or(w.creationError, e.failedCreate(ctx, w).Message); message != "" {
		found = problem{stuck, "pods cannot be created: " + oneLine(message)}
	}
	return found, nil
}

// failedCreate returns the latest event in which the workload's controller reports that it
// could not create pods, or the zero event.
func (e *explainer) failedCreate(ctx context.Context, w workload) corev1.Event {
	events := &corev1.EventList{}
	err := e.live.List(ctx, events, client.InNamespace(w.component.Namespace), client.Limit(maxEvents), client.MatchingFields{
		"involvedObject.kind": w.component.Kind, "involvedObject.name": w.component.Workload, "reason": "FailedCreate",
	})
	if err != nil || len(events.Items) == 0 {
		return corev1.Event{}
	}
	return slices.MaxFunc(events.Items, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
}
