// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
)

// AllWell is the Verdict when pods reach all that is tested.
const AllWell = "True dns nodes pods services"

// Health is what the status of a Network tells of the running network.
type Health struct {
	// Pods is the condition PodNetworkAvailable, and Components SystemComponentsHealthy. A condition
	// that is absent has an empty status.
	Pods, Components corev1beta1.Condition
	// Verdict is the status of Pods and the tests that pass, with a "!" the tests that fail, such
	// as "False nodes !pods". A test of which too little is known is absent.
	Verdict string
	// Families has the tests of each IP family in the same way, such as "nodes !pods", if there are
	// two.
	Families map[extensionsv1alpha1.IPFamily]string
	// Summary is how much was tested, and what fails. It is nil while nothing is known.
	Summary *extensionsv1alpha1.ConnectivitySummary
}

// Health reads what the status of the Shoot's Network tells. Without a Network it tells nothing.
func (s *Shoot) Health(ctx context.Context) (Health, error) {
	network, err := s.Network(ctx)
	if client.IgnoreNotFound(err) != nil {
		return Health{}, err
	}
	return HealthOf(network)
}

// HealthOf returns what the status of a Network tells.
func HealthOf(network *extensionsv1alpha1.Network) (Health, error) {
	health := Health{
		Pods:       condition.Value(network.Status.Conditions, extensionsv1alpha1.PodNetworkAvailable),
		Components: condition.Value(network.Status.Conditions, "SystemComponentsHealthy"),
	}
	var status struct {
		Tests extensionsv1alpha1.ConnectivityTests `json:"connectivityTests"`
	}
	if network.Status.ProviderStatus != nil {
		if err := json.Unmarshal(network.Status.ProviderStatus.Raw, &status); err != nil {
			return health, err
		}
	}
	health.Verdict = strings.Join(append([]string{string(health.Pods.Status)}, results(status.Tests.ConnectivityResults)...), " ")
	health.Families = map[extensionsv1alpha1.IPFamily]string{}
	for family, of := range status.Tests.Families {
		health.Families[family] = strings.Join(results(of), " ")
	}
	health.Summary = status.Tests.Summary
	return health, nil
}

// results returns the tests of which something is known, those that fail with a "!".
func results(of extensionsv1alpha1.ConnectivityResults) (words []string) {
	for _, test := range []struct {
		name   string
		passes *bool
	}{{"dns", of.DNS}, {"nodes", of.Nodes}, {"pods", of.Pods}, {"services", of.Services}} {
		switch {
		case test.passes == nil:
		case *test.passes:
			words = append(words, test.name)
		default:
			words = append(words, "!"+test.name)
		}
	}
	return words
}

// ProvenAfter is how often a target must have been reached for its failures to count while its node
// is new; see docs/design.md, "Connectivity".
const ProvenAfter = 3

// Unproven returns the targets of probes that the reports do not tell to be reached ProvenAfter
// times, as "node-1 to node-2", and nodes without a report. all is the number of targets.
func (s *Shoot) Unproven(ctx context.Context) (unproven []string, all int, err error) {
	reports := &connectivityv1alpha1.NodeConnectivityList{}
	if err := s.Cluster.List(ctx, reports); err != nil {
		return nil, 0, err
	}
	for _, node := range s.of.RealNodes {
		if !slices.ContainsFunc(reports.Items, func(r connectivityv1alpha1.NodeConnectivity) bool { return r.Name == node.Name }) {
			unproven = append(unproven, node.Name)
		}
	}
	for _, each := range reports.Items {
		for _, check := range each.Report.Checks {
			for _, result := range check.Results {
				all++
				if result.Attempts-result.Failures < ProvenAfter {
					unproven = append(unproven, fmt.Sprintf("%s to %s", each.Name, result.Name))
				}
			}
		}
	}
	return unproven, all, nil
}
