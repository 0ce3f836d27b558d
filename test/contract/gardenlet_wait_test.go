// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// waitTimes is how long a gardenlet waits. Its time passes with its polls: the
// first one is at once, each further one an Interval later.
type waitTimes struct {
	Interval, Severe, Timeout time.Duration
	// Poll returns the Network as it is when the next poll is due, or an error of
	// the API server's.
	Poll func(context.Context) (*unstructured.Unstructured, error)
}

// gardenerWaitTimes are the times that a real gardenlet waits for Networks.
func gardenerWaitTimes(poll func(context.Context) (*unstructured.Unstructured, error)) waitTimes {
	return waitTimes{Interval: 5 * time.Second, Severe: 30 * time.Second, Timeout: 3 * time.Minute, Poll: poll}
}

// gaveUpError is a wait that ended without what was waited for.
type gaveUpError struct {
	// After is how long it was waited, in the gardenlet's time, and Polls how often
	// it was looked.
	After time.Duration
	Polls int
	// Last is what was wrong in the end.
	Last *notReady
}

// Error implements error.
func (g *gaveUpError) Error() string {
	return fmt.Sprintf("gave up after %d polls in %s: %s", g.Polls, g.After, g.Last.Message)
}

// Unwrap returns what was wrong in the end.
func (g *gaveUpError) Unwrap() error { return g.Last }

// WaitReady waits until the Network is ready. Its error is a gaveUpError, or the end of
// ctx.
func (g *gardenlet) WaitReady(ctx context.Context) error {
	return g.wait(ctx, func(n *unstructured.Unstructured, err error) *notReady {
		switch {
		case apierrors.IsNotFound(err):
			return minor("the Network is not there")
		case err != nil:
			return severe(err)
		}
		return g.Ready(n)
	})
}

// WaitMigrated waits until the Network's status reports that it has left this seed.
func (g *gardenlet) WaitMigrated(ctx context.Context) error {
	return g.wait(ctx, func(n *unstructured.Unstructured, err error) *notReady {
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return severe(err)
		}
		s, err := statusOf(n)
		if err != nil {
			return severe(err)
		}
		if s.LastOperation == nil || s.LastOperation.Type != "Migrate" || s.LastOperation.State != "Succeeded" {
			return minor("the Network has not migrated yet")
		}
		return nil
	})
}

// WaitGone waits until the Network is gone. What its lastError said in the end is
// what the error says.
func (g *gardenlet) WaitGone(ctx context.Context) error {
	return g.wait(ctx, func(n *unstructured.Unstructured, err error) *notReady {
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return severe(err)
		}
		s, err := statusOf(n)
		if err != nil {
			return severe(err)
		}
		still := minor("the Network is still there")
		if s.LastError != nil {
			still.Message, still.Codes = s.LastError.Description, s.LastError.Codes
		}
		return still
	})
}

// wait polls until check is content, the time is over, or something is severe. A
// retriable error becomes severe when more polls have gone by than fit into the
// severe threshold.
func (g *gardenlet) wait(ctx context.Context, check func(*unstructured.Unstructured, error) *notReady) error {
	for polls := 1; ; polls++ {
		n, err := g.Patience.Poll(ctx)
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		wrong := check(n, err)
		if wrong == nil {
			return nil
		}
		after := time.Duration(polls-1) * g.Patience.Interval
		abort := wrong.Class == severeProblem ||
			wrong.Class == retriableProblem && polls > int(g.Patience.Severe/g.Patience.Interval)
		if abort || after >= g.Patience.Timeout {
			return &gaveUpError{After: after, Polls: polls, Last: wrong}
		}
	}
}
