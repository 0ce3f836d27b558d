// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/outcome"
)

// How a gardenlet waits for the end of an extension object (Gardener's contract, 2.8).
func TestHowLongTheEndOfAnExtensionObjectIsAwaited(t *testing.T) {
	deleted := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	const name = "the ControlPlane one/two"
	type object = extensionsv1alpha1.ControlPlane
	reports := func(operation corev1beta1.LastOperationType, state corev1beta1.LastOperationState, failure string) func(*object) {
		return func(o *object) {
			o.Status.LastOperation = &corev1beta1.LastOperation{Type: operation, State: state}
			if failure != "" {
				o.Status.LastError = &corev1beta1.LastError{Description: failure, Codes: []corev1beta1.ErrorCode{"ERR_INFRA_DEPENDENCIES"}}
			}
		}
	}
	for title, test := range map[string]struct {
		change func(*object)
		waited time.Duration
		kind   outcome.Kind
		text   string
	}{
		"nothing yet":               {func(*object) {}, time.Minute, outcome.Waiting, name + " is gone"},
		"nothing in time":           {func(*object) {}, 3 * time.Minute, outcome.Terminal, name + ", which was deleted, is not gone after 3m0s: its controller in the seed must remove its finalizers"},
		"an error of the deletion":  {reports("Delete", "Error", "in use"), time.Second, outcome.Terminal, "in use"},
		"the deletion is repeated":  {reports("Delete", "Processing", "in use"), time.Minute, outcome.Waiting, name + " is gone: its last error: in use"},
		"repeated for too long":     {reports("Delete", "Processing", "in use"), 3 * time.Minute, outcome.Terminal, "in use"},
		"a former error":            {reports("Reconcile", "Error", "no quota"), time.Minute, outcome.Waiting, name + " is gone: its last error: no quota"},
		"a former error, too long":  {reports("Reconcile", "Error", "no quota"), 3 * time.Minute, outcome.Terminal, "no quota"},
		"an error without its text": {reports("Delete", "Error", ""), time.Minute, outcome.Waiting, name + " is gone"},
		"deleted by a user": {func(o *object) {
			o.Annotations["gardener.cloud/timestamp"] = deleted.Add(-time.Hour).Format(time.RFC3339Nano)
			o.DeletionTimestamp = new(metav1.NewTime(deleted))
		}, time.Minute, outcome.Waiting, name + " is gone"},
	} {
		t.Run(title, func(t *testing.T) {
			g := NewWithT(t)
			o := &object{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "two", Annotations: map[string]string{
				"gardener.cloud/timestamp": deleted.Format(time.RFC3339Nano),
			}}}
			test.change(o)
			got := forControlPlane.untilGone(o, deleted.Add(test.waited))
			g.Expect(got.Kind()).To(Equal(test.kind))
			if got.Err() != nil {
				g.Expect(got.Err().Error()).To(Equal(test.text))
				g.Expect(len(got.Codes()) > 0).To(Equal(o.Status.LastError != nil))
				return
			}
			g.Expect(got.Reason()).To(Equal(test.text))
			result, _ := got.Result()
			g.Expect(result.RequeueAfter).To(Equal(3*time.Minute - test.waited))
		})
	}
}
