// SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/outcome"
)

// visits collects the names of the stages that ran.
type visits []string

func stage(name string, o outcome.Outcome) outcome.Stage[*visits] {
	return outcome.Stage[*visits]{Name: name, Run: func(_ context.Context, v *visits) outcome.Outcome {
		*v = append(*v, name)
		return o
	}}
}

func TestStagesRunUntilOneDoesNotContinue(t *testing.T) {
	g := NewWithT(t)
	var seen visits
	o, done := outcome.Run(t.Context(), &seen, []outcome.Stage[*visits]{
		stage("gather", outcome.Continue()),
		stage("gate", outcome.Wait("the nodes are ready", time.Minute)),
		stage("write", outcome.Continue()),
	})
	g.Expect(seen).To(Equal(visits{"gather", "gate"}))
	g.Expect(done).To(Equal(1))
	g.Expect(o.Kind()).To(Equal(outcome.Waiting))
	g.Expect(o.Reason()).To(Equal("the nodes are ready"))
}

func TestAListThatRanThroughIsDone(t *testing.T) {
	g := NewWithT(t)
	var seen visits
	o, done := outcome.Run(t.Context(), &seen, []outcome.Stage[*visits]{stage("one", outcome.Continue()), stage("two", outcome.Continue())})
	g.Expect(o.Kind()).To(Equal(outcome.Done))
	g.Expect(done).To(Equal(2))
}

// What a late cache causes must not hide another error that came with it.
func TestJoinedErrorsAreStaleOnlyIfAllAre(t *testing.T) {
	g := NewWithT(t)
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "networks"}, "example", nil)
	g.Expect(outcome.IsStale(errors.Join(conflict, outcome.ErrOvertaken))).To(BeTrue())
	g.Expect(outcome.IsStale(errors.Join(conflict, errors.New("broken")))).To(BeFalse())
	g.Expect(outcome.IsStale(fmt.Errorf("write: %w", errors.Join(errors.New("broken"), conflict)))).To(BeFalse())
	g.Expect(outcome.IsStale(fmt.Errorf("write: %w", conflict))).To(BeTrue())
	g.Expect(outcome.IsStale(nil)).To(BeFalse())
}

func TestWhatControllerRuntimeIsTold(t *testing.T) {
	broken := errors.New("broken")
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "networks"}, "example", broken)
	for name, test := range map[string]struct {
		outcome outcome.Outcome
		result  reconcile.Result
		err     error
	}{
		"done":                           {outcome.Finish(), reconcile.Result{}, nil},
		"done, with another run":         {outcome.Finish().Within(time.Hour), reconcile.Result{RequeueAfter: time.Hour}, nil},
		"the earlier look counts":        {outcome.Wait("x", time.Minute).Within(time.Hour), reconcile.Result{RequeueAfter: time.Minute}, nil},
		"only an event ends a wait":      {outcome.Wait("x", 0), reconcile.Result{}, nil},
		"a terminal error is not tried":  {outcome.Fail(broken), reconcile.Result{}, nil},
		"an error is tried again":        {outcome.TryAgain(broken), reconcile.Result{}, broken},
		"an error with a time":           {outcome.TryAgain(broken).Within(time.Hour), reconcile.Result{RequeueAfter: time.Hour}, nil},
		"a late cache is no error":       {outcome.TryAgain(conflict), reconcile.Result{RequeueAfter: 200 * time.Millisecond}, nil},
		"a newer request is not lost":    {outcome.TryAgain(outcome.ErrOvertaken), reconcile.Result{RequeueAfter: 200 * time.Millisecond}, nil},
		"what came from an old cache":    {outcome.StartOver(time.Second), reconcile.Result{RequeueAfter: time.Second}, nil},
		"no error at all just continues": {outcome.TryAgain(nil), reconcile.Result{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			result, err := test.outcome.Result()
			g.Expect(result).To(Equal(test.result))
			if test.err == nil {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(test.err))
			}
		})
	}
}

func TestCodesAreSortedAndStatedOnce(t *testing.T) {
	const one, two = corev1beta1.ErrorConfigurationProblem, corev1beta1.ErrorCleanupClusterResources
	NewWithT(t).Expect(outcome.Fail(errors.New("broken"), one, two, one).Codes()).To(Equal([]corev1beta1.ErrorCode{two, one}))
}

func TestOnlyErrorsAreReported(t *testing.T) {
	g := NewWithT(t)
	broken := errors.New("broken")
	g.Expect(outcome.Fail(broken).IsReported()).To(BeTrue())
	g.Expect(outcome.TryAgain(broken).IsReported()).To(BeTrue())
	g.Expect(outcome.TryAgain(broken).Unreported().IsReported()).To(BeFalse())
	g.Expect(outcome.TryAgain(outcome.ErrOvertaken).IsReported()).To(BeFalse())
	g.Expect(outcome.Wait("x", 0).IsReported()).To(BeFalse())
}

// Of a run that was cut off by a panic nothing is reported, and it does not count as done.
func TestAPanicIsNotReported(t *testing.T) {
	g := NewWithT(t)
	ended := outcome.Panicked()
	func() {
		defer func() { g.Expect(recover()).To(Equal("broken")) }()
		ended, _ = outcome.Run(t.Context(), &visits{}, []outcome.Stage[*visits]{
			{Name: "write", Run: func(context.Context, *visits) outcome.Outcome { panic("broken") }},
		})
	}()
	g.Expect(ended.Kind()).To(Equal(outcome.Stale))
	g.Expect(ended.IsReported()).To(BeFalse())
	g.Expect(ended.Err()).To(HaveOccurred())
}
