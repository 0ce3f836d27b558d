// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// freeCorrections of an object are made at once, and each further one twice as long after the
// last as the one before, and lastRetry at most.
const freeCorrections = 10

// corrections are how often an object was corrected, or created again, lately.
type corrections struct {
	count int
	last  time.Time
	// by is the client whose change was the last to be corrected.
	by string
}

// disputed is the error of an object that another client changes again and again. It does
// not keep other objects from being applied.
type disputed struct {
	by string
	// after is the time until the object is corrected again.
	after time.Duration
}

// Error implements error. The text stays the same while the dispute does.
func (d *disputed) Error() string {
	return fmt.Sprintf("%s has changed it more than %d times, each time after the operator had corrected it; the operator now corrects it with increasing delays, up to %s: stop that client from changing it",
		d.by, freeCorrections, lastRetry)
}

// correct counts a correction of an object. It returns an error if there were too many.
func (o *observations) correct(id identity, by string, now time.Time) error {
	o.corrected.Update(id, func(c corrections, _ bool) (corrections, bool) {
		if now.Sub(c.last) > forgottenAfter {
			c.count = 0
		}
		return corrections{c.count + 1, now, by}, true
	})
	return o.dispute(id, now)
}

// dispute returns an error while it is too early to correct an object again.
func (o *observations) dispute(id identity, now time.Time) error {
	c, _ := o.corrected.Get(id)
	due := c.last
	if beyond := c.count - freeCorrections; beyond > 0 {
		due = due.Add(min(time.Second<<min(beyond, 10), lastRetry))
	}
	if after := due.Sub(now); after > 0 {
		return &disputed{c.by, after}
	}
	return nil
}

// editorOf names the client that most likely changed an object last: the other owner that
// the origin annotation names, or the manager of the fields that changed last.
func editorOf(live metav1.Object, origin string) string {
	if theirs := live.GetAnnotations()[resourcesv1alpha1.Origin]; theirs != origin && theirs != "" {
		return "the resource manager of " + theirs
	}
	var last metav1.ManagedFieldsEntry
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != FieldManager && entry.Subresource == "" && !entry.Time.Before(last.Time) {
			last = entry
		}
	}
	return cmp.Or(last.Manager, "another client")
}
