// SPDX-License-Identifier: Apache-2.0

package networkstatus

import (
	"maps"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/util/json"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
)

// messageLimit is the greatest length of a condition's message in bytes.
const messageLimit = 500

// desired is what a Network's status must state according to its sources.
type desired struct {
	// conditions are all of the Network's, those of other writers included: the list can
	// only be written as a whole.
	conditions []corev1beta1.Condition
	// providerStatus has the keys of the sources, and no others.
	providerStatus map[string]any
	// changed reports whether the status does not state that yet.
	changed bool
	// requeueAfter is when the sources must report again; 0 means after an event.
	requeueAfter time.Duration
}

// merge puts the answers of all sources together. What a source without a report stated
// before stays. applied is the providerStatus that this process wrote last, nil if it wrote
// none.
func merge(network *extensionsv1alpha1.Network, applied map[string]any, answers []answer, now time.Time) desired {
	present := providerStatusOf(network)
	d := desired{conditions: network.Status.Conditions, providerStatus: map[string]any{}}
	for i := range answers {
		a := &answers[i]
		before, ours := part(present, a.ProviderStatus), part(applied, a.ProviderStatus)
		if a.err != nil {
			if applied != nil {
				before = ours
			}
			maps.Copy(d.providerStatus, before)
			continue
		}
		wanted := part(a.providerStatus, a.ProviderStatus)
		maps.Copy(d.providerStatus, wanted)
		// Keys inside the source's part that another writer left there are not removed by
		// an apply, and are no reason for one.
		same := reflect.DeepEqual(before, wanted) ||
			applied != nil && reflect.DeepEqual(ours, wanted) && includes(before, wanted)
		d.changed = d.changed || !same
		d.requeueSoon(a.report.RequeueAfter)
		for _, conditionType := range a.Conditions {
			d.setCondition(conditionType, a.report.Conditions, same, now)
		}
	}
	return d
}

// setCondition puts the condition of a type among the others, or removes it if it is not
// reported. If the condition's message is all of the source's report that changes, it
// may have to wait.
func (d *desired) setCondition(conditionType string, reported []corev1beta1.Condition, restIsSame bool, now time.Time) {
	var changed bool
	wanted := condition.Get(reported, conditionType)
	if wanted == nil {
		d.conditions, changed = condition.Remove(d.conditions, conditionType)
		d.changed = d.changed || changed
		return
	}
	stated := *wanted
	stated.Message = condition.Shorten(stated.Message, messageLimit)
	if before := condition.Get(d.conditions, conditionType); before != nil && restIsSame &&
		before.Status == stated.Status && before.Reason == stated.Reason && before.Message != stated.Message {
		if age := now.Sub(before.LastUpdateTime.Time); age >= 0 && age < quietPeriod {
			d.requeueSoon(quietPeriod - age)
			return
		}
	}
	d.conditions, changed = condition.Set(d.conditions, stated, now)
	d.changed = d.changed || changed
}

func (d *desired) requeueSoon(after time.Duration) {
	if after > 0 && (d.requeueAfter == 0 || after < d.requeueAfter) {
		d.requeueAfter = after
	}
}

// providerStatusOf returns a Network's providerStatus as JSON values; nothing if it is
// no object.
func providerStatusOf(network *extensionsv1alpha1.Network) map[string]any {
	var status map[string]any
	if raw := network.Status.ProviderStatus; raw != nil && json.Unmarshal(raw.Raw, &status) != nil {
		return nil
	}
	return status
}

// part returns the values of some keys. An object that is empty says nothing, and is
// left out.
func part(status map[string]any, keys []string) map[string]any {
	found := map[string]any{}
	for _, key := range keys {
		value, stated := status[key]
		if object, is := value.(map[string]any); stated && value != nil && !(is && len(object) == 0) {
			found[key] = value
		}
	}
	return found
}

// includes reports whether what has all that wanted has, and maybe more keys.
func includes(has, wanted map[string]any) bool {
	for key, value := range wanted {
		inner, is := value.(map[string]any)
		hasInner, hasIs := has[key].(map[string]any)
		if is && hasIs && includes(hasInner, inner) {
			continue
		}
		if !reflect.DeepEqual(has[key], value) {
			return false
		}
	}
	return true
}
