// SPDX-License-Identifier: Apache-2.0

package route

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/providers/routes"
)

// The reasons of the condition PodRoutesCreated.
const (
	reasonCreated    = "RoutesCreated"
	reasonPending    = "RoutesPending"
	reasonNearlyFull = "RouteTableNearlyFull"
	reasonFull       = "RouteTableFull"
	reasonNotAllowed = "CredentialsRefused"
	reasonThrottled  = "RequestsThrottled"
	reasonFailed     = "InfrastructureFails"
	reasonNodes      = "NodesWithoutRoutes"
	reasonNotListed  = "InfrastructureNotListed"
	reasonUnknown    = "NodesUnknown"
)

// nearlyFull is the part of a table's limit, in per cent, from which on users are told.
const nearlyFull = 90

// maxListed is how many nodes, tables or routes a message names.
const maxListed = 5

// kinds are the errors of infrastructures, the worst first, with what is told of them.
var kinds = []struct {
	err    error
	reason string
	status corev1beta1.ConditionStatus
	code   corev1beta1.ErrorCode
}{
	{routes.ErrNotAllowed, reasonNotAllowed, corev1beta1.ConditionFalse, corev1beta1.ErrorInfraUnauthorized},
	{routes.ErrLimitReached, reasonFull, corev1beta1.ConditionFalse, corev1beta1.ErrorInfraQuotaExceeded},
	{routes.ErrThrottled, reasonThrottled, corev1beta1.ConditionProgressing, corev1beta1.ErrorInfraRateLimitsExceeded},
}

// worst returns the error of which users are told first.
func worst(errs []error) error {
	for i := range kinds {
		for _, err := range errs {
			if errors.Is(err, kinds[i].err) {
				return err
			}
		}
	}
	return errs[0]
}

// codesOf returns Gardener's codes of an error.
func codesOf(err error) []corev1beta1.ErrorCode {
	for i := range kinds {
		if errors.Is(err, kinds[i].err) {
			return []corev1beta1.ErrorCode{kinds[i].code}
		}
	}
	return nil
}

// conclude reports a pass, and returns when to try again.
func (r *reconciler) conclude(ctx context.Context, run *run, ended outcome.Outcome) outcome.Outcome {
	key := client.ObjectKeyFromObject(run.network)
	err := ended.Err()
	if ended.Kind() == outcome.Stale || err != nil && !ended.IsReported() {
		return ended
	}
	if err == nil && len(run.failed) > 0 {
		err = worst(run.failed)
		ended = r.failure(run, err)
	}
	if err == nil {
		r.failures.Forget(key)
	}
	if err == nil && run.plan == nil { // the routes are removed
		r.options.Board.put(key, nil)
		r.told.Delete(key)
		return ended
	}
	report := run.report(err)
	r.options.Board.put(key, &report)
	r.announce(ctx, run, report)
	if err == nil {
		return ended.Within(r.next(run))
	}
	return ended
}

// report returns the condition after a pass that ended with an error, nil if it did not.
func (run *run) report(err error) corev1beta1.Condition {
	told := corev1beta1.Condition{Type: extensionsv1alpha1.PodRoutesCreated, Status: corev1beta1.ConditionFalse, Codes: codesOf(err)}
	if err != nil {
		told.Reason, told.Message = reasonFailed, sentence(err.Error())
		switch {
		case errors.As(err, new(*shootError)):
			told.Status, told.Reason = corev1beta1.ConditionUnknown, reasonUnknown
		case errors.As(err, new(*notListedError)):
			told.Reason, told.Codes = reasonNotListed, []corev1beta1.ErrorCode{corev1beta1.ErrorConfigurationProblem}
		default:
			for i := range kinds {
				if errors.Is(err, kinds[i].err) {
					told.Status, told.Reason = kinds[i].status, kinds[i].reason
					break
				}
			}
		}
		if n := len(run.failed); n > 1 {
			told.Message += fmt.Sprintf(" %d changes have failed in all.", n)
		}
		return told
	}
	told.Status, told.Reason = corev1beta1.ConditionTrue, reasonCreated
	told.Message = fmt.Sprintf("%d of %s with routes in %s.",
		len(run.nodes)-len(run.plan.without), count(len(run.nodes), "node"), count(len(run.there.Tables), "route table"))
	if full := run.nearlyFull(); len(full) > 0 {
		told.Reason = reasonNearlyFull
		told.Message += " " + nearlyFullMessage(full)
	}
	if len(run.plan.lost) > 0 {
		var lines []string
		for _, route := range run.plan.lost {
			lines = append(lines, fmt.Sprintf("to %s in %s", route.Destination, route.Table))
		}
		told.Message += " " + sentence("Routes that Trellis has not made lead nowhere and can be deleted: "+listed(lines))
	}
	var waiting, problems []string
	for _, name := range slices.Sorted(maps.Keys(run.plan.without)) {
		if reason := run.plan.without[name].reason; reason != "" {
			problems = append(problems, quoted(name)+": "+reason)
		} else {
			waiting = append(waiting, quoted(name))
		}
	}
	switch {
	case len(problems) > 0:
		told.Status, told.Reason = corev1beta1.ConditionFalse, reasonNodes
		told.Message += " " + sentence("Nodes without routes: "+listed(problems))
	case len(waiting) > 0:
		told.Status, told.Reason = corev1beta1.ConditionProgressing, reasonPending
	}
	return told
}

// nearlyFull describes the tables that are nearly full. One with more routes than the limit has had
// its quota raised, so that its limit is not known.
func (run *run) nearlyFull() []string {
	if run.there == nil {
		return nil
	}
	var full []string
	for _, table := range run.there.Tables {
		for _, family := range []struct {
			name string
			used int
		}{{"IPv4", table.IPv4}, {"IPv6", table.IPv6}} {
			if family.used <= run.limit && family.used*100 >= nearlyFull*run.limit && run.limit > 0 {
				full = append(full, fmt.Sprintf("the route table %s has %d of %d %s routes", table.ID, family.used, run.limit, family.name))
			}
		}
	}
	return full
}

// announce logs that the condition has another reason, and records an event of each reason that users
// should know and that the pass before did not have.
func (r *reconciler) announce(ctx context.Context, run *run, told corev1beta1.Condition) {
	reasons, before := []string{told.Reason}, []string(nil)
	full := run.nearlyFull()
	if len(full) > 0 {
		reasons = append(reasons, reasonNearlyFull)
	}
	r.told.Update(client.ObjectKeyFromObject(run.network), func(last []string, _ bool) ([]string, bool) {
		before = last
		return reasons, true
	})
	warn := func(reason, message string) {
		if !slices.Contains(before, reason) && r.budget.Spend(run.network, r.options.Clock.Now()) == 0 {
			outcome.Announce(r.recorder, run.network, corev1.EventTypeWarning, reason, message)
		}
	}
	if len(full) > 0 {
		warn(reasonNearlyFull, nearlyFullMessage(full))
	}
	if told.Status == corev1beta1.ConditionFalse {
		warn(told.Reason, told.Message)
	}
	if !slices.Contains(before, told.Reason) {
		log.FromContext(ctx).Info("Routes to pods", "status", told.Status, "reason", told.Reason, "message", told.Message)
	}
}

func nearlyFullMessage(tables []string) string {
	return sentence(listed(tables) + ": have the quota raised before the cluster grows")
}

// listed joins the first of several lines.
func listed(lines []string) string {
	text := strings.Join(lines[:min(len(lines), maxListed)], "; ")
	if more := len(lines) - maxListed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// sentence makes a sentence of a text.
func sentence(text string) string {
	text = condition.Shorten(text, condition.MaxMessage/2)
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
