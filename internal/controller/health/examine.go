// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// manyPods are more than are to be read at each look.
	manyPods = 500
	// rolloutPause is how long what was found out about a roll-out is good for: all pods
	// must be read for it, and the numbers change with each of them.
	rolloutPause = 30 * time.Second
)

// pageSize bounds what is held of a large cluster at a time. Tests turn more pages.
var pageSize int64 = manyPods

// examination looks in a shoot for what ails the workloads of a network.
type examination struct {
	live     client.Reader
	network  types.NamespacedName
	rollouts *rollouts
	now      time.Time
}

// recent is what was found out about a workload's roll-out last, if that is still good.
func (e *examination) recent(seen inspection) (glimpse, bool) {
	if seen.rollsOut == nil {
		return glimpse{}, false
	}
	last := e.rollouts.last(e.network, seen.component.Name)
	return last, last.daemonSet == seen.rollsOut.UID && last.generation == seen.rollsOut.Generation && e.now.Sub(last.at).Abs() < rolloutPause
}

// rollout is the roll-out of a DaemonSet, before any of its pods was seen; nil if there
// is none, or what it rolls out cannot be found out.
func (e *examination) rollout(ctx context.Context, seen inspection, pods client.MatchingLabelsSelector) *rollout {
	if seen.rollsOut == nil {
		return nil
	}
	revision, err := latestRevision(ctx, e.live, seen.rollsOut, pods)
	if err != nil || revision == nil {
		return nil
	}
	return &rollout{
		revision: revision.Labels[appsv1.ControllerRevisionHashLabelKey],
		began:    lastChange(revision),
		wanted:   int(seen.rollsOut.Status.DesiredNumberScheduled),
		minReady: time.Duration(seen.rollsOut.Spec.MinReadySeconds) * time.Second,
		nodes:    sync.OnceValues(func() (map[string]time.Time, error) { return nodesMade(ctx, e.live) }),
	}
}

// judge says what holds up a roll-out of which all pods were seen, if anything does,
// and remembers it with what ails the worst of them.
func (e *examination) judge(ctx context.Context, seen inspection, roll *rollout, worst ailment) string {
	if roll == nil {
		return ""
	}
	if roll.missing() > 0 {
		roll.refused = refusedPods(ctx, e.live, seen).CreationTimestamp.Time
	}
	held, since, err := roll.heldUp(e.rollouts.last(e.network, seen.component.Name).since, e.now)
	if err != nil {
		return ""
	}
	e.rollouts.note(e.network, seen.component.Name, glimpse{
		daemonSet: seen.rollsOut.UID, generation: seen.rollsOut.Generation, at: e.now,
		since: since, held: held, found: worst.heldUp(held), large: len(roll.agents) > manyPods,
	})
	return held
}

// latestRevision is the revision that a DaemonSet's controller is rolling out; nil if
// there is none.
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

// lastChange is when anybody changed an object last. Of a revision that is when it
// became the latest, be it that it was made, or that it was gone back to.
func lastChange(object client.Object) time.Time {
	at := object.GetCreationTimestamp().Time
	for _, entry := range object.GetManagedFields() {
		if entry.Time != nil {
			at = later(at, entry.Time.Time)
		}
	}
	return at
}

// nodesMade is when each node of the shoot was made.
func nodesMade(ctx context.Context, live client.Reader) (map[string]time.Time, error) {
	made := map[string]time.Time{}
	return made, eachPage(ctx, live, func() *metav1.PartialObjectMetadataList {
		nodes := &metav1.PartialObjectMetadataList{}
		nodes.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
		return nodes
	}, func(page *metav1.PartialObjectMetadataList) bool {
		for i := range page.Items {
			made[page.Items[i].Name] = page.Items[i].CreationTimestamp.Time
		}
		return true
	})
}

// eachPage reads a list page by page until see has seen enough.
func eachPage[L client.ObjectList](ctx context.Context, live client.Reader, empty func() L, see func(L) bool, options ...client.ListOption) error {
	next := ""
	for {
		page := empty()
		if err := live.List(ctx, page, append(options, client.Limit(pageSize), client.Continue(next))...); err != nil {
			return err
		}
		if next = page.GetContinue(); !see(page) || next == "" {
			return nil
		}
	}
}
