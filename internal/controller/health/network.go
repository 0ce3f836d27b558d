// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

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
}

// look sees whether the components of a network are healthy. Its error is one of
// the seed; what the shoot does wrong is part of the sight.
func (r *reconciler) look(ctx context.Context, network *extensionsv1alpha1.Network, components []plugin.Component) (sight, error) {
	hibernated, err := r.isHibernated(ctx, network.Namespace)
	if err != nil {
		return sight{}, err
	}
	if hibernated {
		return sight{result: healthy, message: "The cluster is hibernated: its network components do not run."}, nil
	}
	shoot, err := r.options.Clients.For(ctx, network.Namespace)
	if err != nil {
		return sight{result: unknown, message: fmt.Sprintf("Whether the network components are healthy is not known: %v", err)}, nil
	}
	return lookAt(ctx, shoot, components), nil
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

// lookAt sees each component, and tells of the first unhealthy one.
func lookAt(ctx context.Context, shoot *shootclient.Shoot, components []plugin.Component) sight {
	seen := sight{components: map[string]bool{}}
	var fine, bad, blind []string
	var problem string
	for i := range components {
		component := &components[i]
		c, err := inspect(ctx, shoot.Reader, component)
		switch {
		case err != nil:
			blind = append(blind, fmt.Sprintf("%s: %v", component.Name, shoot.Failure(err)))
			continue
		case c.healthy:
			fine = append(fine, fmt.Sprintf("%s (%s)", component.Name, c.summary))
		case problem == "":
			problem = fmt.Sprintf("%s: %s%s", component.Name, c.summary, explain(ctx, shoot.Client, c))
		default:
			bad = append(bad, component.Name)
		}
		seen.components[component.Name] = c.healthy
	}
	switch {
	case problem != "":
		seen.result, seen.message = unhealthy, problem
		if len(bad) > 0 {
			seen.message += "; not healthy either: " + strings.Join(bad, ", ")
		}
	case len(blind) > 0:
		seen.result, seen.message = unknown, "Whether all network components are healthy is not known: "+strings.Join(blind, "; ")
	default:
		seen.result, seen.message = healthy, "All network components are healthy: "+strings.Join(fine, ", ")
	}
	return seen
}
