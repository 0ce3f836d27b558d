// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/keyed"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/pipeline"
)

// takenWithin is how long other operators get to take a Shoot whose type has no plugin here.
const takenWithin = 10 * time.Second

// others are the operators beside this one.
type others struct {
	seed
	options  Options
	reporter *reporter
	// had are the Shoots whose control plane this process has had, with the name of the operator
	// that has taken it over, of which users are told.
	had keyed.Map[types.NamespacedName, string]
}

// have reports whether a Shoot is left to another operator, and when to look again. Once no other
// operator has taken it, this one reports that its type is unknown.
func (o *others) have(ctx context.Context, shoot *corev1beta1.Shoot) (others bool, again time.Duration) {
	networking := ptr.Deref(shoot.Spec.Networking, corev1beta1.Networking{})
	networkType := ptr.Deref(networking.Type, "")
	by := OperatorOf(ctx, o, pipeline.ControlPlaneNamespace(shoot))
	if o.options.Serves == nil || o.options.Serves(networkType) {
		return o.haveTaken(ctx, shoot, networkType, by), 0
	}
	if by != "" {
		return by != o.options.Operator, 0
	}
	left := takenWithin - o.reporter.clock.Since(shoot.CreationTimestamp.Time)
	return left > 0 && !isDeleting(shoot), left
}

// haveTaken reports whether another operator has taken over a Shoot that this process has had. Both
// have a plugin for its type then, and would take it from each other without end. The one that
// takes it last keeps it, and users are told. by is the operator of the control plane.
func (o *others) haveTaken(ctx context.Context, shoot *corev1beta1.Shoot, networkType, by string) bool {
	if o.options.Operator == "" {
		return false // it is the only one
	}
	key := client.ObjectKeyFromObject(shoot)
	if by == o.options.Operator {
		o.had.Set(key, "")
		return false
	}
	told, had := o.had.Get(key)
	if !had || by == "" {
		return false
	}
	if told != by {
		o.had.Set(key, by)
		note := fmt.Sprintf("The operators %s and %s have networks of the type %q, which only one of them may have. "+
			"%s has this Shoot now, and %s leaves it alone until it is restarted, or the label %s of the namespace %s is removed.",
			o.options.Operator, by, networkType, by, o.options.Operator, OperatorLabel, pipeline.ControlPlaneNamespace(shoot))
		log.FromContext(ctx).Info("Two operators have networks of one type", "other", by, "message", note)
		outcome.Announce(o.reporter.recorder, shoot, corev1.EventTypeWarning, "OperatorConflict", note)
	}
	return true
}

// forget forgets a Shoot that does not exist.
func (o *others) forget(shoot types.NamespacedName) { o.had.Delete(shoot) }
