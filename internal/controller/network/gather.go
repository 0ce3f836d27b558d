// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/outcome"
)

// gatherer reads what the seed has of networks.
type gatherer struct {
	client       client.Client
	cached, live client.Reader
	trigger      Trigger
	standalone   bool
	status       *statusWriter
	clock        clock.PassiveClock
	*localState
}

// gather reads what the seed has of the network: the Cluster with the Shoot, the other
// Networks of the shoot, and the ManagedResources of the bundles.
func (g gatherer) gather(ctx context.Context, run *run) outcome.Outcome {
	if o := g.readCluster(ctx, run); !o.Continues() {
		return o
	}
	if last := run.Shoot.Status.LastOperation; last != nil && last.State == corev1beta1.LastOperationStateFailed {
		return g.leaveAlone(ctx, run)
	}
	err := g.readOthers(ctx, run)
	if err == nil {
		err = run.read(ctx, g.cached)
	}
	if err != nil {
		return outcome.TryAgain(err).Unreported()
	}
	if g.bundles.Late(client.ObjectKeyFromObject(run.Network), run.versionOf) {
		return outcome.StartOver(cacheLag)
	}
	return outcome.Continue()
}

// readOthers reads the other Networks in the control-plane namespace.
func (g gatherer) readOthers(ctx context.Context, run *run) error {
	list := &extensionsv1alpha1.NetworkList{}
	if err := g.client.List(ctx, list, client.InNamespace(run.Network.Namespace)); err != nil {
		return fmt.Errorf("list the Networks of the shoot: %w", err)
	}
	for i := range list.Items {
		if n := &list.Items[i]; n.Name != run.Network.Name && isForShoot(n) {
			run.others, run.Others = append(run.others, n), append(run.Others, extensionsv1alpha1.NetworkLabelValue(n.Name))
		}
	}
	return nil
}

// read reads the ManagedResources of the Network's bundles, and which of them have lost
// their Secret. Those that are being deleted need none.
func (r *run) read(ctx context.Context, from client.Reader) error {
	var names []string
	for i := range r.wanted {
		names = append(names, r.wanted[i].Name)
	}
	if err := r.ReadManaged(ctx, from, names...); err != nil {
		return err
	}
	r.withoutSecret = map[string]bool{}
	for name, mr := range r.Managed {
		if isBeingDeleted(mr) {
			continue
		}
		complete, err := bundle.HasSecrets(ctx, from, mr)
		if err != nil {
			return err
		}
		r.withoutSecret[name] = !complete
	}
	return nil
}

// versionOf returns the version of a ManagedResource as it was read, empty if it or its
// Secret is not there.
func (r *run) versionOf(name string) string {
	if mr := r.Managed[name]; mr != nil && !r.withoutSecret[name] {
		return mr.ResourceVersion
	}
	return ""
}

// decide finds out whether the spec must be carried out. What is missing of the bundles is
// looked for again in the API server, since the cache may be late.
func (g gatherer) decide(ctx context.Context, run *run) outcome.Outcome {
	run.builds = g.mustBuild(run)
	if !run.builds && run.isUnderWay() {
		run.builds, run.continues = true, true
	}
	if !run.builds && run.needsRewrite() {
		if err := run.read(ctx, g.live); err != nil {
			return outcome.TryAgain(err).Unreported()
		}
		run.builds = run.needsRewrite()
		g.tellOfOverwritten(run)
	}
	if run.builds {
		g.begin(run, g.clock.Now())
	}
	return outcome.Continue()
}

// mustBuild reports whether the spec as it is now must be carried out. Otherwise, what was
// written earlier is awaited (N18).
func (g gatherer) mustBuild(run *run) bool {
	if g.trigger == TriggerGeneration || run.asksForOperation || run.Network.RequestedOperation() != "" {
		return true
	}
	uid, _ := g.finished.Get(client.ObjectKeyFromObject(run.Network))
	return uid != run.Network.UID && !run.Network.HasSucceeded() // another process was interrupted
}

// needsRewrite reports whether a ManagedResource of those that the spec as it is now was
// carried out with is missing, or lacks its Secret, or has former content: a user has deleted
// it, or a run ended before it was written. Or there is one too many, which the cache did not
// show when the others were written.
func (r *run) needsRewrite() bool {
	if r.State == nil || r.State.Written == nil || r.State.Written.Generation != r.Network.Generation {
		return false
	}
	for _, written := range r.State.Bundles {
		mr := r.Managed[written.Name]
		if mr == nil || r.withoutSecret[written.Name] || !bundle.RefersTo(mr, written.Secret) {
			return true
		}
	}
	for name, mr := range r.Managed {
		if _, wanted := r.State.Bundle(name); !wanted && mr.DeletionTimestamp.IsZero() {
			return true
		}
	}
	return false
}

// tellOfOverwritten records an event if another writer has changed ManagedResources since this process
// found them as they are wanted: in a landscape, an operator for the same type of networks runs,
// too, and both would correct each other.
func (g gatherer) tellOfOverwritten(run *run) {
	agreed, _ := g.agreed.Get(client.ObjectKeyFromObject(run.Network))
	if !run.builds || !slices.Equal(agreed, run.State.Bundles) {
		return
	}
	var overwritten []string
	for _, written := range run.State.Bundles {
		if mr := run.Managed[written.Name]; mr != nil && !isBeingDeleted(mr) && !bundle.RefersTo(mr, written.Secret) {
			overwritten = append(overwritten, mr.Name)
		}
	}
	if len(overwritten) > 0 {
		g.status.warn(run, "OperatorConflict", []string{fmt.Sprintf("Something else has given the ManagedResource %s other content, which is corrected now. "+
			"If that is another operator for networks of the type %q, stop one of the two: only one may have it.", strings.Join(overwritten, ", "), run.Network.Spec.Type)})
	}
}

// begin remembers since when a spec is being carried out. Further attempts, and the removal
// of the annotation that asked for it, are no new beginning.
func (g gatherer) begin(run *run, now time.Time) {
	g.starts.Update(client.ObjectKeyFromObject(run.Network), func(s start, known bool) (start, bool) {
		if known && (s.request == run.request || s.request.generation == run.request.generation && run.request.operation == "") {
			return s, true
		}
		return start{run.request, now}, true
	})
}

// readCluster reads the Cluster and decodes the Shoot in it, the facts about the network.
func (g gatherer) readCluster(ctx context.Context, run *run) outcome.Outcome {
	run.Cluster, run.Shoot = &extensionsv1alpha1.Cluster{}, &corev1beta1.Shoot{}
	name := run.Network.Namespace
	err := g.client.Get(ctx, client.ObjectKey{Name: name}, run.Cluster)
	if err != nil {
		ended := outcome.TryAgain(fmt.Errorf("read the Cluster %s, which has the facts about this network: %w", name, err)).Unreported()
		if apierrors.IsNotFound(err) && g.tellsOfWaiting(run) {
			run.waitsFor = fmt.Sprintf("Waiting for the Cluster %s, which has the facts about this network", name)
			ended = outcome.Wait("its Cluster exists", 0)
		}
		return g.withoutCluster(ctx, run, ended)
	}
	if err := json.Unmarshal(run.Cluster.Spec.Shoot.Raw, run.Shoot); err != nil {
		cause := fmt.Errorf("the Shoot in the Cluster %s cannot be decoded: %w; the author of the Cluster has to correct it", name, err)
		ended := outcome.Finish()
		if g.isDue(run) {
			g.finished.Delete(client.ObjectKeyFromObject(run.Network))
			ended = outcome.TryAgain(cause)
		}
		return g.withoutCluster(ctx, run, ended)
	}
	return outcome.Continue()
}

// withoutCluster ends a run that has no facts. A request is kept until there are some (N16).
func (g gatherer) withoutCluster(ctx context.Context, run *run, ended outcome.Outcome) outcome.Outcome {
	if err := g.putOff(ctx, run); err != nil {
		return outcome.TryAgain(err).Unreported()
	}
	return ended
}

// putOff takes a request to reconcile off that cannot be carried out now. It first puts it into
// the state, which keeps it. Where another program's state is, the annotation stays.
func (g gatherer) putOff(ctx context.Context, run *run) error {
	if run.Network.RequestedOperation() != extensionsv1alpha1.OperationReconcile || run.State == nil {
		return nil
	}
	run.State.PendingRequest = true
	if err := g.status.patch(ctx, run, func() {}); err != nil {
		return err
	}
	return answer(ctx, g.client, run.Network, extensionsv1alpha1.OperationReconcile)
}

// tellsOfWaiting reports whether the user is told that the Network waits for its Cluster.
// In a landscape gardenlet writes both (N16). Standalone, the cache gets a moment to show a
// Cluster that was created together with the Network.
func (g gatherer) tellsOfWaiting(run *run) bool {
	n := run.Network
	isDone := n.DeletionTimestamp.IsZero() && n.HasSucceeded() && n.Status.ObservedGeneration == n.Generation && !run.asksForOperation
	return g.standalone && g.isDue(run) && !isDone && g.clock.Since(n.CreationTimestamp.Time) >= clusterLag
}

// isDue reports whether there is anything to do for a Network whose facts are unknown.
func (g gatherer) isDue(run *run) bool {
	if !run.Network.DeletionTimestamp.IsZero() {
		return controllerutil.ContainsFinalizer(run.Network, extensionsv1alpha1.NetworkFinalizer)
	}
	return !run.Network.HasSucceeded() || g.mustBuild(run)
}

// leaveAlone ends a run for a shoot that has failed for good: Gardener leaves it alone
// until a user asks for another operation, and so must its extensions (N17).
func (g gatherer) leaveAlone(ctx context.Context, run *run) outcome.Outcome {
	if run.State != nil {
		run.State.PendingRequest = false
	}
	if err := answer(ctx, g.client, run.Network, extensionsv1alpha1.OperationReconcile); err != nil {
		return outcome.TryAgain(err).Unreported()
	}
	return outcome.Finish()
}
