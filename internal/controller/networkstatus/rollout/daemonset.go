// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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
			at = later(at, entry.Time.Time)
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
