// SPDX-License-Identifier: Apache-2.0

// Package unanswered tells users of a seed with several operators that none of them answers: a
// Network, or standalone a Shoot, of a type that this operator has no plugin for asks for
// something, and nothing has happened for a while. Its operator may not be installed, or not run.
//
// The package only records events. It never writes to what is another operator's, which may run a
// network, or may only be late. Where no operator has taken a Network at all, controller/network
// also reports an error in its status, standalone.
package unanswered

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/shoot"
	"github.com/trellis-network/trellis/internal/keyed"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/pipeline"
)

// Reason is the reason of the events.
const Reason = "NoOperator"

// patience is how long other operators get to answer. Users are told within a minute.
const patience = 45 * time.Second

// Options are the controllers' settings.
type Options struct {
	// Operator is the name of this operator, and Types are those of its plugins. Users are told both.
	Operator string
	Types    []string
	// Standalone is the mode without Gardener: there are Shoots, and an edited spec alone asks for
	// something.
	Standalone bool
	// Clock is the source of time.
	Clock clock.PassiveClock
}

// Add adds the controllers to the manager of the seed: one for Networks, and standalone one for
// Shoots.
func Add(mgr manager.Manager, options Options) error {
	recorder := mgr.GetEventRecorder("trellis-unanswered")
	err := (&reconciler[*extensionsv1alpha1.Network]{
		Options: options, client: mgr.GetClient(), recorder: recorder,
		empty:        func() *extensionsv1alpha1.Network { return &extensionsv1alpha1.Network{} },
		networkType:  func(n *extensionsv1alpha1.Network) string { return n.Spec.Type },
		controlPlane: func(n *extensionsv1alpha1.Network) string { return n.Namespace },
		asks:         func(n *extensionsv1alpha1.Network) string { return networkAsks(n, options.Standalone) },
	}).add(mgr, "unanswered-network")
	if !options.Standalone {
		return err
	}
	return errors.Join(err, (&reconciler[*corev1beta1.Shoot]{
		Options: options, client: mgr.GetClient(), recorder: recorder,
		empty: func() *corev1beta1.Shoot { return &corev1beta1.Shoot{} }, networkType: typeOf,
		controlPlane: pipeline.ControlPlaneNamespace, asks: shootAsks,
	}).add(mgr, "unanswered-shoot"))
}

// reconciler tells of the objects of one kind.
type reconciler[O client.Object] struct {
	Options
	client   client.Client
	recorder events.EventRecorder
	// empty returns a new object, networkType and controlPlane what one has.
	empty                     func() O
	networkType, controlPlane func(O) string
	// asks describes what an object asks for and how it was answered last, for comparison. It is
	// empty for an object that asks for nothing.
	asks    func(O) string
	waiting keyed.Map[types.NamespacedName, waiting]
}

// waiting is what this process knows of an object that asks for something.
type waiting struct {
	asks  string
	since time.Time
	told  bool
}

func (r *reconciler[O]) add(mgr manager.Manager, name string) error {
	others := predicate.NewPredicateFuncs(func(object client.Object) bool {
		o, ok := object.(O)
		return ok && !slices.Contains(r.Types, r.networkType(o))
	})
	return builder.ControllerManagedBy(mgr).Named(name).For(r.empty(), builder.WithPredicates(others)).Complete(r)
}

// Reconcile records an event about an object that has asked for something for a while.
func (r *reconciler[O]) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object, asks := r.empty(), ""
	err := r.client.Get(ctx, request.NamespacedName, object)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	if err == nil {
		asks = r.asks(object)
	}
	now, tells := r.Clock.Now(), false
	current := r.waiting.Update(request.NamespacedName, func(w waiting, _ bool) (waiting, bool) {
		if w.asks != asks {
			w = waiting{asks: asks, since: now}
		}
		tells = asks != "" && !w.told && now.Sub(w.since) >= patience
		w.told = w.told || tells
		return w, asks != ""
	})
	if tells {
		note := r.note(ctx, object)
		logf.FromContext(ctx).Info("No operator answers", "type", r.networkType(object), "message", note)
		outcome.Announce(r.recorder, object, corev1.EventTypeWarning, Reason, note)
	}
	if asks == "" || current.told {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: patience - now.Sub(current.since)}, nil
}

// note is what users are told.
func (r *reconciler[O]) note(ctx context.Context, object O) string {
	last := ""
	if r.Standalone {
		if by := shoot.OperatorOf(ctx, r.client, r.controlPlane(object)); by != "" && by != r.Operator {
			last = fmt.Sprintf(" The operator %s has reconciled it until now.", by)
		}
	}
	return fmt.Sprintf("No operator has answered within %s: install and start the one for networks of the type %q. The operator %s has the types %s.%s",
		patience, r.networkType(object), r.Operator, strings.Join(r.Types, ", "), last)
}
