// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/plugin"
)

// Reasons of Gardener's health checks.
const (
	reasonSuccessful   = "HealthCheckSuccessful"
	reasonUnsuccessful = "HealthCheckUnsuccessful"
	reasonProgressing  = "HealthCheckProgressing"
	reasonCheckError   = "ConditionCheckError"
)

// result is what a look at a network can find.
type result int

const (
	healthy result = iota
	unhealthy
	unknown
)

// sight is what was seen of a network.
type sight struct {
	result  result
	message string
	// components are those of which it is known whether they are healthy.
	components map[string]bool
	// asleep says that there is nothing to see until the Cluster changes.
	asleep bool
}

// look sees whether the components of a network are healthy. Its error is one of
// the seed; what the shoot does wrong is part of the sight.
func (r *reconciler) look(ctx context.Context, network *extensionsv1alpha1.Network, components []plugin.Component) (sight, error) {
	hibernated, err := r.isHibernated(ctx, network.Namespace)
	if err != nil {
		return sight{}, err
	}
	if hibernated {
		return sight{result: healthy, asleep: true, message: "The cluster is hibernated: its network components do not run."}, nil
	}
	shoot, err := r.options.Clients.For(ctx, network.Namespace)
	if err != nil {
		return unseen(err), nil
	}
	if err := shoot.Confirm(ctx, r.options.Period/2); err != nil {
		return unseen(err), nil
	}
	examine := &examination{shoot.Client, client.ObjectKeyFromObject(network), &r.rollouts, r.options.Clock.Now()}
	return lookAt(ctx, shoot, components, examine), nil
}

// isHibernated goes by what the user wants, as Gardener's health checks do: while
// a cluster falls asleep or is asleep, nobody is to be alarmed.
func (r *reconciler) isHibernated(ctx context.Context, namespace string) (bool, error) {
	cluster := &extensionsv1alpha1.Cluster{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: namespace}, cluster); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	shoot := &corev1beta1.Shoot{}
	if err := json.Unmarshal(cluster.Spec.Shoot.Raw, shoot); err != nil {
		return false, fmt.Errorf("decode the Shoot in the Cluster %s: %w", cluster.Name, err)
	}
	h := shoot.Spec.Hibernation
	return h != nil && h.Enabled != nil && *h.Enabled, nil
}

// unseen is the sight of a network of which nothing could be seen.
func unseen(err error) sight {
	return sight{result: unknown, message: fmt.Sprintf("Whether the network components are healthy is not known: %v", err)}
}

// kindsOf are the kinds of the components' workloads whose health can be told.
func kindsOf(components []plugin.Component) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for i := range components {
		if kind := appsv1.SchemeGroupVersion.WithKind(components[i].Kind); isKnown(kind.Kind) && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// lookAt sees each component, and tells of the unhealthy one with the worst pod;
// of equal ones of the first.
func lookAt(ctx context.Context, shoot *shootclient.Shoot, components []plugin.Component, examine *examination) sight {
	// All at once, so that what keeps them from being seen is told once.
	if err := shoot.Watch(ctx, kindsOf(components)...); err != nil {
		return unseen(shoot.Failure(err))
	}
	seen := sight{components: map[string]bool{}}
	var fine, bad, blind []string
	var problem string
	var gravest ailment
	for i := range components {
		component := &components[i]
		c, err := inspect(ctx, shoot.Reader, component)
		if err != nil {
			blind = append(blind, fmt.Sprintf("%s: %v", component.Name, shoot.Failure(err)))
			continue
		}
		seen.components[component.Name] = c.healthy
		if c.healthy {
			fine = append(fine, fmt.Sprintf("%s (%s)", component.Name, c.summary))
			continue
		}
		if a := examine.explain(ctx, c); problem == "" || a.gravity > gravest.gravity {
			problem, gravest = fmt.Sprintf("%s: %s", component.Name, joined("; ", c.summary, a.text)), a
			bad = append([]string{component.Name}, bad...)
		} else {
			bad = append(bad, component.Name)
		}
	}
	switch {
	case problem != "":
		seen.result, seen.message = unhealthy, problem
		if others := bad[1:]; len(others) > 0 {
			seen.message += "; not healthy either: " + strings.Join(others, ", ")
		}
	case len(blind) > 0:
		seen.result, seen.message = unknown, "Whether all network components are healthy is not known: "+strings.Join(blind, "; ")
	default:
		seen.result, seen.message = healthy, "All network components are healthy: "+strings.Join(fine, ", ")
	}
	return seen
}
