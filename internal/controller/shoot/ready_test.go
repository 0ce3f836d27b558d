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

// The checks and the times of gardenlets (Gardener's contract, 2.8).
func TestWhenAnExtensionObjectIsReady(t *testing.T) {
	requested := time.Date(2026, 11, 23, 12, 0, 0, 5e8, time.UTC)
	failure := &corev1beta1.LastError{Description: "no quota", Codes: []corev1beta1.ErrorCode{"ERR_INFRA_QUOTA_EXCEEDED"}}
	type object = extensionsv1alpha1.Infrastructure
	for name, test := range map[string]struct {
		change func(*object)
		waited time.Duration
		kind   outcome.Kind
		text   string
		after  time.Duration
	}{
		"success": {func(*object) {}, time.Second, outcome.Continued, "", 0},
		"success within seconds": {func(o *object) {
			o.Status.LastOperation.LastUpdateTime = metav1.NewTime(requested.Truncate(time.Second))
		}, time.Second, outcome.Continued, "", 0},
		"an older success": {func(o *object) { o.Status.LastOperation.LastUpdateTime = metav1.NewTime(requested.Add(-time.Second)) }, time.Second,
			outcome.Waiting, "the Infrastructure one/two is ready: its controller has not reported an operation since the last request", 599 * time.Second},
		"no operation":  {func(o *object) { o.Status.LastOperation = nil }, 0, outcome.Waiting, "the Infrastructure one/two is ready: its controller has not reported an operation", 10 * time.Minute},
		"an older spec": {func(o *object) { o.Status.ObservedGeneration = 1 }, time.Second, outcome.Waiting, "the Infrastructure one/two is ready: observed generation outdated (1/2)", 599 * time.Second},
		"not picked up": {func(o *object) { o.Annotations["gardener.cloud/operation"] = "anything" }, time.Second, outcome.Waiting, `the Infrastructure one/two is ready: gardener operation "anything" is not yet picked up by controller`, 599 * time.Second},
		"an open end":   {func(o *object) { o.Status.LastOperation.State = "Processing" }, time.Second, outcome.Waiting, "the Infrastructure one/two is ready: extension state is not succeeded but Processing", 599 * time.Second},
		"not in time":   {func(o *object) { o.Status.LastOperation.State = "Processing" }, 10 * time.Minute, outcome.Terminal, "the Infrastructure one/two is not ready after 10m0s: extension state is not succeeded but Processing", 0},
		"an error":      {func(o *object) { o.Status.LastError, o.Status.LastOperation.State = failure, "Error" }, time.Second, outcome.Terminal, "no quota", 0},
		"an error beside a success": {func(o *object) { o.Status.LastError = failure }, time.Second,
			outcome.Waiting, "the Infrastructure one/two is ready: error during reconciliation: no quota", 179 * time.Second},
		"a former error": {func(o *object) {
			o.Status.LastError, o.Status.LastOperation.State, o.Status.ObservedGeneration = failure, "Error", 1
		}, time.Second, outcome.Waiting, "the Infrastructure one/two is ready: error during reconciliation: no quota", 179 * time.Second},
		"a former error for too long": {func(o *object) { o.Status.LastError, o.Status.ObservedGeneration = failure, 1 }, 3 * time.Minute, outcome.Terminal, "no quota", 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := &object{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "two", Generation: 2, Annotations: map[string]string{
				"gardener.cloud/timestamp": requested.Format(time.RFC3339Nano),
			}}}
			o.Status.ObservedGeneration = 2
			o.Status.LastOperation = &corev1beta1.LastOperation{State: "Succeeded", LastUpdateTime: metav1.NewTime(requested.Add(time.Second))}
			test.change(o)
			got := forInfrastructure.until(o, requested.Add(test.waited))
			g.Expect(got.Kind()).To(Equal(test.kind))
			if got.Err() != nil {
				g.Expect(got.Err().Error()).To(Equal(test.text))
				g.Expect(len(got.Codes()) > 0).To(Equal(o.Status.LastError != nil))
				return
			}
			g.Expect(got.Reason()).To(Equal(test.text))
			result, _ := got.Result()
			g.Expect(result.RequeueAfter).To(Equal(test.after))
		})
	}
}

func TestAControlPlaneMayTakeLessTimeThanItsInfrastructure(t *testing.T) {
	g := NewWithT(t)
	requested := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	o := &extensionsv1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "two", CreationTimestamp: metav1.NewTime(requested)}}
	until := func(waited time.Duration) outcome.Kind { return forControlPlane.until(o, requested.Add(waited)).Kind() }
	g.Expect(until(179 * time.Second)).To(Equal(outcome.Waiting))
	g.Expect(until(3 * time.Minute)).To(Equal(outcome.Terminal))
	o.Status.LastError = &corev1beta1.LastError{Description: "no quota"}
	g.Expect(until(29 * time.Second)).To(Equal(outcome.Waiting))
	g.Expect(until(30 * time.Second)).To(Equal(outcome.Terminal))
}
