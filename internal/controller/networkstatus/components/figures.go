// SPDX-License-Identifier: Apache-2.0

package components

import (
	"maps"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
)

// figuresPeriod is how long the figures of roll-outs stay as they are while the same ones go on:
// each pod changes them.
const figuresPeriod = 10 * time.Second

// figures are those of roll-outs, by component, and since when the status has them.
type figures struct {
	rollouts map[string]extensionsv1alpha1.Rollout
	at       time.Time
}

// rollout returns how far a roll-out has come, and whether it goes on. The workload must have been
// explained.
func (e *explainer) rollout(w workload) (extensionsv1alpha1.Rollout, bool) {
	if w.rollingOut == nil {
		return extensionsv1alpha1.Rollout{}, false
	}
	status := &w.rollingOut.Status
	told := extensionsv1alpha1.Rollout{
		Nodes: status.DesiredNumberScheduled, Updated: max(status.UpdatedNumberScheduled, 0), Available: max(status.NumberAvailable, 0),
	}
	last, _ := e.rollouts.Get(e.key(w))
	if last.daemonSet == w.rollingOut.UID && last.generation == w.rollingOut.Generation && !last.since.IsZero() {
		told.Since = &metav1.Time{Time: last.since.Truncate(time.Second)}
	}
	return told, told.Updated < told.Nodes || told.Since != nil
}

// pace returns the roll-outs that the status must have, and when that can change although the
// shoot does not, 0 for never. Another roll-out is told at once, other figures after a while.
func (s *Source) pace(in source.Input, seen map[string]extensionsv1alpha1.Rollout) (told map[string]extensionsv1alpha1.Rollout, again time.Duration) {
	s.figures.Update(client.ObjectKeyFromObject(in.Network), func(before figures, _ bool) (figures, bool) {
		age := in.Now.Sub(before.at)
		switch {
		case reflect.DeepEqual(before.rollouts, seen):
		case age >= 0 && age < figuresPeriod && slices.Equal(slices.Sorted(maps.Keys(before.rollouts)), slices.Sorted(maps.Keys(seen))):
			again = figuresPeriod - age
		default:
			before = figures{seen, in.Now}
		}
		told = before.rollouts
		return before, len(told) > 0
	})
	return told, again
}
