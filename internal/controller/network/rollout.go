// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/metrics"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/internal/wave"
)

// newPacer returns what paces the roll-out over all Networks that the operator looks after,
// nil if the options do not ask for it.
func newPacer(c client.Reader, options Options) *wave.Pacer {
	if options.Rollout == nil {
		return nil
	}
	return &wave.Pacer{
		Policy: *options.Rollout, Clock: options.Clock, RecordOf: rolloutOf,
		Measure: func(name types.NamespacedName, phase wave.Phase) { metrics.RolloutPhase(name, string(phase)) },
		Halted:  func(s wave.Situation) { announceHalt(options.Rollout.Revision, s) },
		Networks: func(ctx context.Context) ([]*extensionsv1alpha1.Network, error) {
			list := &extensionsv1alpha1.NetworkList{}
			if err := c.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
				return nil, err
			}
			var networks []*extensionsv1alpha1.Network
			for i := range list.Items {
				n := &list.Items[i]
				isOthers := options.IsOthers != nil && options.IsOthers(ctx, n.Namespace)
				if _, known := options.Pipeline.Plugin(n.Spec.Type); known && isForShoot(n) && !isOthers {
					networks = append(networks, n)
				}
			}
			return networks, nil
		},
	}
}

// announceHalt logs and measures that a roll-out halts or goes on.
func announceHalt(revision string, s wave.Situation) {
	metrics.RolloutHalted(s.IsHalted)
	line := "The roll-out goes on"
	if s.IsHalted {
		line = "The roll-out is halted"
	}
	logf.Log.WithName("rollout").Info(line, "revision", revision, "failed", wave.Names(s.Failed),
		"tolerated", s.Tolerated, "progressing", s.Progressing, "pending", s.Pending)
}

func rolloutOf(n *extensionsv1alpha1.Network) *wave.Record {
	kept, err := state.Decode(n.Status.State)
	if err != nil {
		return nil
	}
	return kept.Rollout
}

// ofRollout adds what a roll-out must be told of, beside what triggers reconciliations anyway.
func (w *watches) ofRollout(b *ctrl.Builder, pacer *wave.Pacer) *ctrl.Builder {
	if pacer == nil {
		return b
	}
	woken := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		metrics.RolloutHalted(false) // until a Network tells otherwise
		pacer.OnWake(func(name types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: name}) })
		return nil
	})
	return b.WatchesRawSource(woken).
		Watches(&extensionsv1alpha1.Network{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(w.mine(), changesRollout()))
}

// changesRollout admits what can change where a Network stands in a roll-out: its labels and
// annotations about that and, of one whose update is judged, its conditions and its operation. After a
// restart each that has not succeeded is looked at: its update is judged, or it tells why it waits.
func changesRollout() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			n, ok := e.Object.(*extensionsv1alpha1.Network)
			if !ok {
				return false
			}
			record := rolloutOf(n)
			return record != nil && !record.Is(wave.Succeeded)
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*extensionsv1alpha1.Network)
			after, fine := e.ObjectNew.(*extensionsv1alpha1.Network)
			if !ok || !fine {
				return false
			}
			for _, each := range []string{extensionsv1alpha1.RolloutAnnotation, extensionsv1alpha1.RolloutResumedAtAnnotation} {
				if before.Annotations[each] != after.Annotations[each] {
					return true
				}
			}
			if !apiequality.Semantic.DeepEqual(before.Labels, after.Labels) {
				return true
			}
			isSame := apiequality.Semantic.DeepEqual(before.Status.Conditions, after.Status.Conditions) &&
				apiequality.Semantic.DeepEqual(before.Status.LastOperation, after.Status.LastOperation)
			return !isSame && rolloutOf(after).Is(wave.Progressing)
		},
		DeleteFunc:  func(event.DeleteEvent) bool { return true }, // another one may take its place
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}
