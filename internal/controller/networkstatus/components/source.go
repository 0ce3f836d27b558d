// SPDX-License-Identifier: Apache-2.0

// Package components reports whether the workloads of a network run: one boolean for
// each component in providerStatus.components, how far roll-outs have come in
// providerStatus.rollouts, and Gardener's condition SystemComponentsHealthy, whose message explains
// the worst problem.
//
// It knows neither which components a network has, since the Network's state lists
// them, nor whether pods can really reach each other.
package components

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
	"github.com/trellis-network/trellis/internal/keyed"
	"github.com/trellis-network/trellis/internal/metrics"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/plugin"
)

const (
	// ConditionType is the Shoot's condition to which a Network contributes.
	ConditionType = "SystemComponentsHealthy"
	// StatusKey is the key of the components in the providerStatus.
	StatusKey = "components"
	// RolloutsKey is the key of the roll-outs that go on.
	RolloutsKey = "rollouts"
)

// Source reports the health of a network's components. Its settings must all be set.
type Source struct {
	// Period is how often a Network is checked.
	Period time.Duration
	// ProgressingThreshold is how long a network may be unhealthy before its condition
	// turns from Progressing to False.
	ProgressingThreshold time.Duration
	// PageSize is how many objects are read from a shoot at once.
	PageSize int64

	// unhealthySince is since when a network has not been known to be healthy. A
	// condition only tells since when it has had its present status, which changes
	// whenever the network cannot be observed. After a restart that time must do.
	unhealthySince keyed.Map[types.NamespacedName, time.Time]
	// rollouts remembers the last analysis of each component's roll-out.
	rollouts keyed.Map[rolloutKey, rolloutAnalysis]
	// figures are those of a network's roll-outs that were reported last.
	figures keyed.Map[types.NamespacedName, figures]
}

var _ source.Source = &Source{}

// Watches declares the kinds of workloads whose health is known, and the nodes.
func Watches() []shootclient.Watch {
	return []shootclient.Watch{
		{Kind: appsv1.SchemeGroupVersion.WithKind("DaemonSet"), Typed: true, Fields: shootclient.InSystem},
		{Kind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Typed: true, Fields: shootclient.InSystem},
		shootclient.Nodes,
	}
}

// Report implements source.Source. A network of which something cannot be applied is not
// healthy, whatever runs of it. Report never returns an error: what the shoot does wrong
// is in the condition.
func (s *Source) Report(ctx context.Context, in source.Input) (source.Report, error) {
	seen := s.observe(ctx, in)
	if len(in.Unapplied) > 0 && !in.Hibernated {
		message := strings.Join(in.Unapplied, "; ")
		switch seen.result {
		case healthy:
			seen.result, seen.message = unhealthy, message
		case unhealthy:
			seen.message = message + "; " + seen.message
		case unknown:
			seen.message += "; " + message
		}
	}
	wanted, requeueAfter := s.condition(in, seen)
	report := source.Report{Conditions: []corev1beta1.Condition{wanted}, RequeueAfter: requeueAfter}
	if len(seen.components) > 0 {
		report.ProviderStatus = map[string]any{StatusKey: seen.components}
	}
	rollouts, again := s.pace(in, seen.rollouts)
	if len(rollouts) > 0 {
		report.ProviderStatus[RolloutsKey] = rollouts
	}
	if again > 0 {
		report.RequeueAfter = min(report.RequeueAfter, again)
	}
	if in.Hibernated {
		report.RequeueAfter = 0 // nothing changes before the Cluster does
	}
	return report, nil
}

// Forget implements source.Source.
func (s *Source) Forget(network types.NamespacedName) {
	s.unhealthySince.Delete(network)
	s.figures.Delete(network)
	s.rollouts.DeleteFunc(func(key rolloutKey, _ rolloutAnalysis) bool { return key.network == network })
}

// result is what an observation of a network can find.
type result int

const (
	healthy result = iota
	unhealthy
	unknown
)

// observation is what was observed of a network.
type observation struct {
	result  result
	message string
	// components are those of which it is known whether they are healthy, and kube-proxy.
	components map[string]bool
	// rollouts are those that go on.
	rollouts map[string]extensionsv1alpha1.Rollout
}

func (s *Source) observe(ctx context.Context, in source.Input) observation {
	if in.Hibernated {
		return observation{result: healthy, message: "The cluster is hibernated: its network components do not run."}
	}
	shoot, err := in.Shoot(ctx)
	if err != nil {
		return unobserved(err)
	}
	// All kinds at once, so that what keeps them from being observed is reported once.
	if err := shoot.Watch(ctx, append(kindsOf(in.Components), shootclient.Nodes.Kind)...); err != nil {
		return unobserved(shoot.Failure(err))
	}
	explain := &explainer{
		live: shoot.Client, cached: shoot.Reader, pageSize: s.PageSize, rollouts: &s.rollouts,
		network: client.ObjectKeyFromObject(in.Network), now: in.Now,
	}
	seen := check(ctx, shoot, in.Components, explain)
	seen.addKubeProxy(ctx, shoot.Reader, in.Components)
	if seen.result != unknown {
		metrics.Rollout(explain.network, in.Network.Spec.Type, explain.stalled)
	}
	return seen
}

// unobserved is the observation of a network about which nothing is known.
func unobserved(err error) observation {
	return observation{result: unknown, message: fmt.Sprintf("The health of the network components is unknown: %v", err)}
}

// kindsOf returns the kinds of the components' workloads whose health is known.
func kindsOf(components []plugin.Component) (kinds []schema.GroupVersionKind) {
	for _, w := range Watches() {
		if slices.ContainsFunc(components, func(c plugin.Component) bool { return c.Kind == w.Kind.Kind }) {
			kinds = append(kinds, w.Kind)
		}
	}
	return kinds
}

// check checks each component, and explains the unhealthy one whose worst pod has the
// most severe problem; of equal ones the first. If all are healthy, it names the nodes that
// have no network nevertheless.
func check(ctx context.Context, shoot *shootclient.Shoot, components []plugin.Component, explain *explainer) observation {
	seen := observation{components: map[string]bool{}, rollouts: map[string]extensionsv1alpha1.Rollout{}}
	var fine, unhealthyNames, unreadable []string
	var message string
	var worst problem
	for i := range components {
		component := &components[i]
		w, err := readWorkload(ctx, shoot.Reader, component)
		if err != nil {
			unreadable = append(unreadable, fmt.Sprintf("%s: %v", component.Name, shoot.Failure(err)))
			continue
		}
		seen.components[component.Name] = w.healthy
		if w.healthy {
			fine = append(fine, fmt.Sprintf("%s (%s)", component.Name, w.summary))
			continue
		}
		if p := explain.explain(ctx, w); message == "" || p.severity > worst.severity {
			message, worst = fmt.Sprintf("%s: %s", component.Name, joined("; ", w.summary, p.text)), p
			unhealthyNames = append([]string{component.Name}, unhealthyNames...)
		} else {
			unhealthyNames = append(unhealthyNames, component.Name)
		}
		if rollout, goesOn := explain.rollout(w); goesOn {
			seen.rollouts[component.Name] = rollout
		}
	}
	withoutNetwork, err := nodesWithoutNetwork(ctx, shoot.Reader, explain.now)
	if err != nil {
		unreadable = append(unreadable, fmt.Sprintf("nodes: %v", shoot.Failure(err)))
	}
	switch {
	case message != "":
		seen.result, seen.message = unhealthy, message
		if others := unhealthyNames[1:]; len(others) > 0 {
			seen.message += "; also unhealthy: " + strings.Join(others, ", ")
		}
	case len(unreadable) > 0:
		seen.result, seen.message = unknown, "The health of some network components is unknown: "+strings.Join(unreadable, "; ")
	case withoutNetwork != "":
		seen.result, seen.message = unhealthy, withoutNetwork
	case len(components) == 0:
		seen.result, seen.message = healthy, "The network has no components that run in the cluster."
	default:
		seen.result, seen.message = healthy, "All network components are healthy: "+strings.Join(fine, ", ")
	}
	return seen
}

// Reasons of Gardener's health checks.
const (
	reasonSuccessful   = "HealthCheckSuccessful"
	reasonUnsuccessful = "HealthCheckUnsuccessful"
	reasonProgressing  = "HealthCheckProgressing"
	reasonCheckError   = "ConditionCheckError"
)

// condition returns what an observation makes of the condition, and when to observe
// again.
func (s *Source) condition(in source.Input, seen observation) (corev1beta1.Condition, time.Duration) {
	before := condition.Get(in.Network.Status.Conditions, ConditionType)
	since := s.trackHealth(in, before, seen.result)
	wanted := corev1beta1.Condition{Type: ConditionType, Message: seen.message}
	requeueAfter := s.Period
	switch seen.result {
	case healthy:
		wanted.Status, wanted.Reason = corev1beta1.ConditionTrue, reasonSuccessful
	case unknown:
		wanted.Status, wanted.Reason = corev1beta1.ConditionUnknown, reasonCheckError
	case unhealthy:
		wanted.Status, wanted.Reason = corev1beta1.ConditionProgressing, reasonProgressing
		left := since.Add(s.ProgressingThreshold).Sub(in.Now)
		if before != nil && before.Status == corev1beta1.ConditionFalse {
			left = 0 // it has failed already
		}
		if left > 0 {
			requeueAfter = min(requeueAfter, left)
		} else {
			wanted.Status, wanted.Reason = corev1beta1.ConditionFalse, reasonUnsuccessful
		}
	}
	return wanted, requeueAfter
}

// trackHealth returns since when the network has not been known to be healthy. before
// is the condition that it has, nil for a new Network.
func (s *Source) trackHealth(in source.Input, before *corev1beta1.Condition, now result) time.Time {
	return s.unhealthySince.Update(client.ObjectKeyFromObject(in.Network), func(since time.Time, tracked bool) (time.Time, bool) {
		switch {
		case now == healthy:
			return time.Time{}, false
		case before == nil, !tracked && before.Status == corev1beta1.ConditionTrue:
			return in.Now, true
		case !tracked:
			return before.LastTransitionTime.Time, true
		default:
			return since, true
		}
	})
}
