// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/fielderror"
	"github.com/trellis-network/trellis/internal/jsonequal"
	"github.com/trellis-network/trellis/plugin"
)

// Review is the answer to a user who creates or updates a Shoot.
type Review struct {
	// Errors refuse the Shoot. Without any it is admitted.
	Errors field.ErrorList
	// Warnings are what the change does to a running network, the most disruptive changes
	// first, and what else the user should know.
	Warnings []plugin.Warning
	// DataPath is how packets will travel, and what makes the routes, in one line. It is empty
	// if there are errors, or nothing was checked.
	DataPath string
}

// ReviewShoot judges a Shoot that a user creates, or updates. old is the Shoot before the
// update, nil for one that is created. It finds the errors that the operator would report, before the cluster has them.
// What was as wrong with old, or more, is only a warning, and so are allowed changes
// that affect the running network; a change that would break it is refused.
//
// Nothing is checked of a Shoot that is being deleted, that has no workers, or of which nothing
// changes that a network depends on (Gardener's contract, A3 and A4). What the Shoot's status
// does not state yet is no error.
func (p *Pipeline) ReviewShoot(old, shoot *corev1beta1.Shoot, env plugin.Environment) Review {
	request, checked := p.planned(shoot, env)
	if !checked || unchanged(old, shoot) {
		return Review{}
	}
	if before, has := p.planned(old, env); has {
		return p.reviewUpdate(&before, &request)
	}
	result := p.check(request)
	if result.lacks != "" {
		result.Warnings = append(result.Warnings, plugin.Warning{Field: pathsOf(&request).networkType.String(), Message: fmt.Sprintf(
			"%s have no effect in a network of %s; give a new network another type if pods rely on them", result.lacks, request.Spec.Type)})
	}
	return reviewOf(result)
}

func reviewOf(result Result) Review {
	review := Review{Errors: result.Errors, Warnings: append(warningsOf(&result), result.Warnings...)}
	if len(review.Errors) == 0 {
		review.DataPath = result.DataPath
	}
	return review
}

// reviewUpdate judges the change of a Shoot. What is wrong with the Shoot before is forgiven, but only
// as long as the change can be compared with it, or leaves the network as it is: it would
// otherwise cover up what the change breaks.
func (p *Pipeline) reviewUpdate(before, request *Request) Review {
	if before.Spec.Type != request.Spec.Type && request.ChangesType {
		result := p.CheckExchange(*before, *request)
		result.RefuseFixed(before.Accepted(), request)
		return reviewOf(result)
	}
	if before.Spec.Type != request.Spec.Type {
		result := Result{}
		result.RefuseFixed(before.Accepted(), request)
		return reviewOf(result)
	}
	var annotation []plugin.Warning
	if before.MaxUnavailable == request.MaxUnavailable {
		// A wrong annotation, which API servers do not ask about, must not end the check.
		for _, err := range p.rolloutErrors(request) {
			annotation = append(annotation, plugin.Warning{Field: err.Field, Message: err.ErrorBody()})
			request.MaxUnavailable = ""
		}
	}
	before.MaxUnavailable = "" // the annotation is not part of what was accepted
	// As if it were accepted: what is wrong with it now are warnings.
	before.TakenOver = before.Accepted()
	was := p.check(*before)
	request.TakenOver = before.TakenOver
	if was.Config != nil {
		request.Applied = was.Applied()
	}
	result := p.check(*request)
	result.RefuseFixed(before.TakenOver, request)
	result.Warnings = append(annotation, result.Warnings...)
	review := reviewOf(result)
	if result.compared {
		return review
	}
	var known []string
	for _, err := range was.Errors {
		known = append(known, err.Error())
	}
	isNew := func(err *field.Error) bool { return !slices.Contains(known, err.Error()) }
	switch {
	case slices.ContainsFunc(review.Errors, isNew):
	case samePlan(before, request):
		for _, err := range review.Errors {
			review.Warnings = append(review.Warnings, plugin.Warning{Field: err.Field, Message: err.ErrorBody()})
		}
		review.Errors = nil
	case len(review.Errors) == 0:
		for _, err := range was.Errors {
			review.Warnings = append(review.Warnings, plugin.Warning{Field: err.Field, Message: fmt.Sprintf(
				"what the change does to the running network is unknown, since it cannot be compared with the Shoot before: %s; make sure that the network is to become this one", err.ErrorBody())})
		}
	}
	return review
}

// samePlan reports whether two Requests ask for the same network, however large their clusters are and
// whether they run.
func samePlan(a, b *Request) bool {
	same, err := jsonequal.Values(a.Spec, b.Spec)
	return err == nil && same && a.Facts.KubeProxy == b.Facts.KubeProxy && a.Facts.NodeCIDR == b.Facts.NodeCIDR
}

// DefaultShoot states in a Shoot that a user creates, or updates, what its plugin wants to be
// stated there: see plugin.ShootDefaulter. old is nil for a Shoot that is created. It changes
// nothing of a Shoot of which ReviewShoot checks nothing.
func (p *Pipeline) DefaultShoot(old, shoot *corev1beta1.Shoot, env plugin.Environment) ([]plugin.Warning, error) {
	request, checked := p.planned(shoot, env)
	if !checked || unchanged(old, shoot) {
		return nil, nil
	}
	var warnings []plugin.Warning
	err := plugin.Guard(request.Spec.Type, func() error {
		if found, ok := p.plugins[request.Spec.Type]; ok {
			warnings = found.DefaultShoot(old, shoot, &plugin.Input{Facts: request.Facts, Environment: env})
		}
		return nil
	})
	return warnings, err
}

// planned returns the Request for a Shoot whose network may be planned; false if there is
// nothing to plan.
func (p *Pipeline) planned(shoot *corev1beta1.Shoot, env plugin.Environment) (request Request, ok bool) {
	if shoot == nil || shoot.DeletionTimestamp != nil {
		return request, false
	}
	network, err := NetworkForShoot(shoot)
	if err != nil {
		return request, false
	}
	request = p.NewRequest(network, shoot, env)
	request.Author, request.Facts.Planned = AuthorShoot, true
	return request, true
}

// unchanged reports whether the specs are the same as far as networks depend on them.
func unchanged(old, shoot *corev1beta1.Shoot) bool {
	if old == nil {
		return false
	}
	same, err := jsonequal.Values(old.Spec, shoot.Spec)
	return err == nil && same
}

// warningsOf returns the changes that affect traffic or restart workloads, the most disruptive
// first, and of one class those first that the user wrote.
func warningsOf(result *Result) []plugin.Warning {
	var warnings []plugin.Warning
	for _, class := range []plugin.ChangeClass{plugin.Disruptive, plugin.Rolling} {
		for _, byUser := range []bool{true, false} {
			for i := range result.Changes {
				change := &result.Changes[i]
				isFact := slices.Contains(plugin.AllFacts(), plugin.Fact(change.Path))
				users := isFact || result.Origins[change.Path].Source == plugin.FromUser
				if change.Class != class || users != byUser {
					continue
				}
				path := field.NewPath(change.Path)
				if !isFact {
					path = plugin.At(pathsOf(&Request{Author: AuthorShoot}).config, change.Path)
				}
				meaning := string(class)
				if result.Transition.IsNeeded() && class == plugin.Disruptive {
					meaning = "disruptive at once"
				}
				warnings = append(warnings, plugin.Warning{Field: path.String(), Message: fmt.Sprintf("the change from %v to %v is %s: %s",
					orAbsent(change.Before), orAbsent(change.After), meaning, change.Reason)})
			}
		}
	}
	if way := result.Transition; way.IsNeeded() && len(warnings) > 0 {
		warnings[0].Message += "; " + way.String()
	}
	return warnings
}

func orAbsent(value any) any {
	if value == nil || value == "" {
		return "absent"
	}
	return fielderror.Brief(value)
}
