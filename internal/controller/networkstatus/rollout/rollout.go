// SPDX-License-Identifier: Apache-2.0

// Package rollout finds out what holds up the roll-out of a DaemonSet. It goes by what
// the API server stores of revisions, pods and nodes, so a restart of this process
// loses nothing but what nodes that left have taken with them.
//
// It knows neither which network a DaemonSet belongs to nor who reads the result.
package rollout

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/times"
)

const (
	// stallThreshold is how long a roll-out may make no progress before the nodes that
	// hold it up are named.
	stallThreshold = 10 * time.Minute
	// maxNodes is how many of these nodes are named. The others are counted.
	maxNodes = 5

	stalled = "the roll-out has made no progress for more than 10 minutes"
)

// Rollout is a DaemonSet that does not have an available pod of its latest revision on
// each of its nodes.
type Rollout struct {
	// revision is the hash of the latest revision.
	revision string
	// started is when that revision became the latest.
	started time.Time
	// desired is the number of nodes that must have a pod.
	desired int
	// minReady is how long a pod must be ready to be available.
	minReady time.Duration
	pods     []pod
	// refusedSince is since when the DaemonSet controller cannot create pods; zero if it
	// has not complained.
	refusedSince time.Time
	// nodes returns when each node of the cluster was created. It is only called when
	// that matters.
	nodes func() (map[string]time.Time, error)
}

// Of returns the roll-out of a DaemonSet's latest revision, before any pod was added.
// pods is the DaemonSet's selector. Nodes are read from cached when they matter, anything
// else from live. Without a revision there is no roll-out, and the result is nil.
func Of(ctx context.Context, live, cached client.Reader, d *appsv1.DaemonSet, pods client.MatchingLabelsSelector) (*Rollout, error) {
	revision, err := latestRevision(ctx, live, d, pods)
	if err != nil || revision == nil {
		return nil, err
	}
	return &Rollout{
		revision: revision.Labels[appsv1.ControllerRevisionHashLabelKey],
		started:  lastChange(revision),
		desired:  int(d.Status.DesiredNumberScheduled),
		minReady: time.Duration(d.Spec.MinReadySeconds) * time.Second,
		nodes: sync.OnceValues(func() (map[string]time.Time, error) {
			return nodesCreated(ctx, cached)
		}),
	}, nil
}

// latestRevision returns the revision that the DaemonSet controller is rolling out, or
// nil.
func latestRevision(ctx context.Context, live client.Reader, d *appsv1.DaemonSet, pods client.MatchingLabelsSelector) (*appsv1.ControllerRevision, error) {
	list := &appsv1.ControllerRevisionList{}
	if err := live.List(ctx, list, client.InNamespace(d.Namespace), pods); err != nil {
		return nil, err
	}
	var latest *appsv1.ControllerRevision
	for i := range list.Items {
		if revision := &list.Items[i]; metav1.IsControlledBy(revision, d) && (latest == nil || revision.Revision > latest.Revision) {
			latest = revision
		}
	}
	return latest, nil
}

// lastChange returns when an object last changed. A revision changes when it is created
// and when a rollback makes it the latest again.
func lastChange(object client.Object) time.Time {
	at := object.GetCreationTimestamp().Time
	for _, entry := range object.GetManagedFields() {
		if entry.Time != nil {
			at = times.Later(at, entry.Time.Time)
		}
	}
	return at
}

// nodesCreated returns when each node of the shoot was created.
func nodesCreated(ctx context.Context, cached client.Reader) (map[string]time.Time, error) {
	nodes := &corev1.NodeList{}
	if err := cached.List(ctx, nodes, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	created := make(map[string]time.Time, len(nodes.Items))
	for i := range nodes.Items {
		created[nodes.Items[i].Name] = nodes.Items[i].CreationTimestamp.Time
	}
	return created, nil
}

// Add adds pods of the DaemonSet. A nil Rollout ignores them.
func (r *Rollout) Add(pods []corev1.Pod, now time.Time) {
	if r == nil {
		return
	}
	for i := range pods {
		r.pods = append(r.pods, podOf(&pods[i], r.revision, r.minReady, now))
	}
}

// Pods returns the number of pods that were added.
func (r *Rollout) Pods() int { return len(r.pods) }

// Missing returns the number of nodes that have no pod at all.
func (r *Rollout) Missing() int { return max(0, r.desired-len(r.nodesWithPods())) }

// RefusedSince states since when the DaemonSet controller cannot create the missing
// pods.
func (r *Rollout) RefusedSince(at time.Time) { r.refusedSince = at }

// Stall describes what holds up the roll-out if it has made no progress for too long,
// and returns when it last made progress. All pods must have been added. known is the
// time of progress that an earlier call returned: the pod that showed it may have left
// with its node.
func (r *Rollout) Stall(known, now time.Time) (description string, progress time.Time, err error) {
	progress, incomplete, err := r.lastProgress()
	if err != nil {
		return "", known, err
	}
	progress = times.Later(progress, known)
	if incomplete && now.Sub(progress) >= stallThreshold {
		description = r.describe(now)
	}
	return description, times.Earlier(progress, now), nil
}

// lastProgress returns when a roll-out last made progress, or became incomplete, and
// whether it is incomplete.
//
// Progress is a pod that was replaced and became available. A node that joins and gets
// its pod is no progress; otherwise a growing cluster would never learn what holds it
// up. Of the nodes younger than the revision, only those pods count that were created
// shortly after the roll-out became incomplete, since they belong to the same wave.
func (r *Rollout) lastProgress() (at time.Time, incomplete bool, err error) {
	at, incomplete = r.IncompleteSince()
	if !incomplete {
		return time.Time{}, false, nil
	}
	sameWave := at.Add(stallThreshold)
	for i := range r.pods {
		p := &r.pods[i]
		if !p.current || !p.available || p.unrelated || !p.changed.After(at) {
			continue
		}
		counts := !p.created.After(sameWave)
		if !counts {
			if counts, err = r.predates(p.node); err != nil {
				return time.Time{}, false, err
			}
		}
		if counts {
			at = p.changed
		}
	}
	return at, true, nil
}

// IncompleteSince returns since when the roll-out has something to do, and whether it has: pods to
// replace, new pods that are not available yet, or pods that cannot be created. A pod that was
// available and failed later is not the roll-out's concern. All pods must have been added.
func (r *Rollout) IncompleteSince() (since time.Time, incomplete bool) {
	note := func(at time.Time) {
		if !incomplete || at.Before(since) {
			since, incomplete = at, true
		}
	}
	for i := range r.pods {
		switch p := &r.pods[i]; {
		case !p.current:
			note(r.started)
		case !p.available && !p.unrelated:
			note(p.created)
		}
	}
	if r.Missing() > 0 && !r.refusedSince.IsZero() {
		note(r.refusedSince)
	}
	return times.Later(since, r.started), incomplete
}

// predates reports whether a node existed, and so had a pod to replace, when the
// roll-out started.
func (r *Rollout) predates(node string) (bool, error) {
	nodes, err := r.nodes()
	if err != nil {
		return false, err
	}
	created, known := nodes[node]
	return known && created.Before(r.started), nil
}

func (r *Rollout) nodesWithPods() map[string]bool {
	nodes := map[string]bool{}
	for i := range r.pods {
		nodes[r.pods[i].node] = true
	}
	return nodes
}

// describe names the nodes that hold up a stalled roll-out: those whose pods have been
// unavailable for the threshold or, if there are none, for a shorter time.
func (r *Rollout) describe(now time.Time) string {
	for _, threshold := range []time.Duration{stallThreshold, 0} {
		var nodes []string
		for i := range r.pods {
			if p := &r.pods[i]; p.blocks() && now.Sub(p.blocksSince()) >= threshold {
				nodes = append(nodes, p.node)
			}
		}
		nodes = append(nodes, r.nodesWithoutPods(now.Add(-threshold))...)
		slices.Sort(nodes)
		if nodes = slices.Compact(nodes); len(nodes) > 0 {
			return stalled + " because of " + nodeList(nodes)
		}
	}
	if r.Missing() > 0 {
		return stalled // the caller adds why pods cannot be created
	}
	return stalled + ", although all pods are ready: the DaemonSet controller does not replace them"
}

// nodesWithoutPods returns the nodes created by then that have no pod, if it is certain
// which they are: a DaemonSet need not be for every node of a cluster.
func (r *Rollout) nodesWithoutPods(then time.Time) []string {
	missing := r.Missing()
	if missing == 0 {
		return nil
	}
	nodes, err := r.nodes()
	if err != nil {
		return nil
	}
	with := r.nodesWithPods()
	without := slices.DeleteFunc(slices.Collect(maps.Keys(nodes)), func(node string) bool { return with[node] })
	if len(without) != missing {
		return nil
	}
	return slices.DeleteFunc(without, func(node string) bool { return nodes[node].After(then) })
}

func nodeList(nodes []string) string {
	switch more := len(nodes) - maxNodes; {
	case len(nodes) == 1:
		return "node " + nodes[0]
	case more > 0:
		return fmt.Sprintf("nodes %s and %d more", strings.Join(nodes[:maxNodes], ", "), more)
	default:
		return "nodes " + strings.Join(nodes, ", ")
	}
}
