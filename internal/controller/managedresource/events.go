// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/log"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/outcome"
)

// eventRecreated is the reason of the event about an object that cannot be updated, and
// that was deleted to be created again. Until then what it does in the shoot is
// interrupted. The reasons of other events are those of the condition.
const eventRecreated = "ObjectRecreated"

// eventRestored is the reason of the event about CRDs that were deleted in the cluster and are
// back, and restored its note.
const (
	eventRestored = "DefinitionRestored"
	restored      = "These definitions were deleted in the cluster, and all objects of their kinds with them: %s. They are back, and so are the objects that the bundle states. " +
		"Agents create theirs again, perhaps with other values: until then the network can be interrupted. Those that users had created are lost: create them again."
)

// announce records an event if the run ended differently than the one before: new content
// was applied, or an object was deleted to be created again, or the run failed. A terminal
// error is logged then; controller-runtime logs the others.
func announce(ctx context.Context, recorder events.EventRecorder, run *run, ended outcome.Outcome) {
	before := condition.Value(run.initial.Status.Conditions, resourcesv1alpha1.ResourcesApplied)
	now := condition.Value(run.mr.Status.Conditions, resourcesv1alpha1.ResourcesApplied)
	isNew := run.initial.Status.ObservedGeneration != run.mr.Status.ObservedGeneration
	if run.applied != "" || run.unchanged {
		run.announceRestored(recorder)
	}
	switch {
	case run.finalized:
	case now.Status == corev1beta1.ConditionTrue && (before.Status != now.Status || isNew):
		outcome.Announce(recorder, run.mr, corev1.EventTypeNormal, now.Reason, now.Message)
	case now.Status == corev1beta1.ConditionFalse && (before.Status != now.Status || before.Message != now.Message):
		reason := now.Reason
		var failed *failure
		if errors.As(ended.Err(), &failed) && errors.As(failed.err, new(*recreating)) {
			reason = eventRecreated
		}
		outcome.Announce(recorder, run.mr, corev1.EventTypeWarning, reason, now.Message)
		if ended.Kind() == outcome.Terminal {
			log.FromContext(ctx).Info("Cannot apply the ManagedResource until something changes", "codes", ended.Codes(), "cause", now.Message)
		}
	}
}

// announceRestored records one event that names the CRDs which were lost and are back. A cluster
// that loses some again and again has an event once in quietPeriod.
func (r *run) announceRestored(recorder events.EventRecorder) {
	lost := r.observed.restored
	if len(lost) == 0 || !r.observed.recreations.AllowN(r.clock.Now(), 1) {
		return
	}
	r.observed.restored = nil
	slices.SortFunc(lost, compareIdentities)
	lost = slices.Compact(lost)
	var names []string
	for _, id := range lost[:min(len(lost), mostNamed)] {
		names = append(names, id.Name)
	}
	related := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: lost[0].Name, UID: r.observed.uidOf(lost[0])}}
	related.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind(lost[0].Kind))
	outcome.AnnounceWith(recorder, r.mr, related, corev1.EventTypeWarning, eventRestored, fmt.Sprintf(restored, strings.Join(names, ", ")+andMore(len(lost))))
}
