// SPDX-License-Identifier: Apache-2.0

// Package outcome is the vocabulary of Trellis' reconciliations. A reconciliation is
// a list of stages; each stage returns one Outcome, and the first that does not
// continue ends the reconciliation. The controller turns that Outcome into the status,
// the event, the log line, the metrics and the answer for controller-runtime, each in
// one place.
package outcome

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// Kind is one of the ways in which a stage can end. Its text is the value of the
// label "outcome" of metrics.
type Kind string

const (
	// Continued means that the next stage may run.
	Continued Kind = "continued"
	// Done means that there is nothing left to do.
	Done Kind = "done"
	// Waiting means that something must happen before the next stage can run.
	Waiting Kind = "waiting"
	// Terminal means an error that stays until a user changes something.
	Terminal Kind = "terminal"
	// Retry means an error that another attempt may overcome.
	Retry Kind = "retry"
	// Stale means that the reconciliation started from a cache that was behind the API
	// server, or panicked. It starts again, and there is nothing to report.
	Stale Kind = "stale"
)

// staleRetry is the time that a cache gets to catch up with the API server.
const staleRetry = 200 * time.Millisecond

// Outcome is how a stage, and with it a reconciliation, ended. The zero value
// continues.
type Outcome struct {
	kind   Kind
	reason string
	after  time.Duration
	err    error
	codes  []corev1beta1.ErrorCode
	// unreported hides the outcome from users.
	unreported bool
}

// Continue lets the next stage run.
func Continue() Outcome { return Outcome{} }

// Finish ends a reconciliation in which nothing is left to do.
func Finish() Outcome { return Outcome{kind: Done} }

// Wait ends a reconciliation until an event arrives or after has passed, whichever
// comes first; 0 means that only an event ends the wait. reason completes the sentence
// "waiting until …".
func Wait(reason string, after time.Duration) Outcome {
	return Outcome{kind: Waiting, reason: reason, after: after}
}

// Fail ends a reconciliation with an error that retrying does not overcome. codes tell
// Gardener's clients who can.
func Fail(err error, codes ...corev1beta1.ErrorCode) Outcome {
	return Outcome{kind: Terminal, err: err, codes: sortedSet(codes)}
}

// TryAgain ends a reconciliation with an error, which controller-runtime retries with
// back-off. An error that only shows that a cache was late becomes a Stale outcome.
// A nil error continues.
func TryAgain(err error, codes ...corev1beta1.ErrorCode) Outcome {
	switch {
	case err == nil:
		return Continue()
	case IsStale(err):
		return Outcome{kind: Stale, err: err, after: staleRetry}
	}
	return Outcome{kind: Retry, err: err, codes: sortedSet(codes)}
}

// StartOver ends a reconciliation that started from outdated objects; it starts again
// after the given time.
func StartOver(after time.Duration) Outcome { return Outcome{kind: Stale, after: after} }

// Panicked is the outcome of a reconciliation until its stages have returned one. If one of
// them panics, the deferred function that ends the reconciliation finds it: nothing is
// reported of a run that was cut off, and controller-runtime makes an error of the panic.
func Panicked() Outcome { return Outcome{kind: Stale, err: errPanicked, after: staleRetry} }

var errPanicked = errors.New("a stage panicked")

// Within returns the outcome with another run after d at the latest. An error that is
// retried within a time is not retried with controller-runtime's back-off, and not logged
// by it either.
func (o Outcome) Within(d time.Duration) Outcome {
	if o.after == 0 || d < o.after {
		o.after = d
	}
	return o
}

// Unreported returns the outcome as one that users are not told, because its error is
// none of theirs: the status stays as it is.
func (o Outcome) Unreported() Outcome {
	o.unreported = true
	return o
}

// IsReported reports whether the error of a Terminal or Retry outcome is one that users
// are told.
func (o Outcome) IsReported() bool {
	return (o.kind == Terminal || o.kind == Retry) && !o.unreported
}

// Kind returns how the stage ended.
func (o Outcome) Kind() Kind {
	if o.kind == "" {
		return Continued
	}
	return o.kind
}

// Continues reports whether the next stage may run.
func (o Outcome) Continues() bool { return o.Kind() == Continued }

// IsPanic reports whether a stage panicked.
func (o Outcome) IsPanic() bool { return errors.Is(o.err, errPanicked) }

// Err returns the error of a Terminal, Retry or Stale outcome, otherwise nil.
func (o Outcome) Err() error { return o.err }

// Codes returns Gardener's codes of the error, sorted, each once.
func (o Outcome) Codes() []corev1beta1.ErrorCode { return o.codes }

// Reason returns what a Waiting outcome waits for.
func (o Outcome) Reason() string { return o.reason }

// Result is the answer for controller-runtime. Only a Retry outcome returns its error:
// the error of a Terminal one has been reported, and no retry would help.
func (o Outcome) Result() (reconcile.Result, error) {
	if o.kind == Retry && o.after == 0 {
		return reconcile.Result{}, o.err
	}
	return reconcile.Result{RequeueAfter: o.after}, nil
}

// Stage is one step of a reconciliation. Stages change the run that they get, are
// idempotent, and never call one another.
type Stage[R any] struct {
	// Name says what the stage does. A Shoot's status names the stage that failed by it.
	Name string
	// Run runs the stage.
	Run func(ctx context.Context, run R) Outcome
}

// Run runs stages in their order until one does not continue. It returns that
// outcome and the number of stages that continued. When all continue, the outcome is
// Done.
func Run[R any](ctx context.Context, run R, stages []Stage[R]) (Outcome, int) {
	for i, stage := range stages {
		if o := stage.Run(ctx, run); !o.Continues() {
			return o, i
		}
	}
	return Finish(), len(stages)
}

// IsStale reports whether the API server refused a write only because the writer's
// cache was late: about the object, or about the end of its namespace. Another attempt
// succeeds, so users need not be told. Joined errors are stale if all of them are.
func IsStale(err error) bool {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return !slices.ContainsFunc(joined.Unwrap(), func(each error) bool { return !IsStale(each) })
	}
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || errors.Is(err, ErrOvertaken) ||
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// tooLarge is what etcd and its client answer, which the API server passes on.
var tooLarge = regexp.MustCompile(`request is too large|larger than max|limit is \d+ bytes`)

// IsTooLarge reports whether the API server, or its etcd, refused an object for its size.
func IsTooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || err != nil && tooLarge.MatchString(err.Error())
}

// ErrOvertaken is the error of a reconciliation that found a newer request than the one
// that it started with. The newer request must not be lost, so the reconciliation
// starts again.
var ErrOvertaken = errors.New("a newer request arrived while this one was being started")

func sortedSet(codes []corev1beta1.ErrorCode) []corev1beta1.ErrorCode {
	return slices.Compact(slices.Sorted(slices.Values(codes)))
}
