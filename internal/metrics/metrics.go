// SPDX-License-Identifier: Apache-2.0

// Package metrics has the metrics of Trellis, beside those that controller-runtime
// brings. Each is defined here, beside the function with which controllers record it;
// `make generate` lists them in docs/metrics.md.
//
// Every label has a bounded number of values: none of them is the name of a cluster, and
// a type of networks that no plugin serves becomes "other". What is counted for a
// Network or a shoot no longer counts once that is gone.
package metrics

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-network/trellis/internal/keyed"
	"github.com/trellis-network/trellis/internal/outcome"
)

var servedTypes keyed.Map[string, struct{}]

// ServeTypes states for which types of networks there are plugins. The operator calls it
// before its controllers start.
func ServeTypes(networkTypes ...string) {
	for _, each := range networkTypes {
		servedTypes.Set(each, struct{}{})
	}
}

// typeLabel bounds the values of the label "type": users choose the types of Networks. An
// empty type stays empty, for controllers whose objects have none.
func typeLabel(networkType string) string {
	if _, served := servedTypes.Get(networkType); served || networkType == "" {
		return networkType
	}
	return "other"
}

var reconciliations = newHistogram("trellis_reconciliation_duration_seconds",
	"Duration of reconciliations. Their count is the number of reconciliations with that outcome.",
	[]float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180}, "controller", "type", "outcome")

// Reconciled records that a controller has ended a reconciliation that took as long as
// stated. networkType is empty where the object does not tell.
func Reconciled(controller, networkType string, o outcome.Outcome, took time.Duration) {
	reconciliations.WithLabelValues(controller, typeLabel(networkType), string(o.Kind())).Observe(took.Seconds())
}

var applied = newHistogram("trellis_network_apply_duration_seconds",
	"Time from a generation of a Network, or a request to reconcile it, until its objects are applied in the shoot, with all attempts.",
	[]float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600}, "type")

// Applied records that the objects of a Network have been applied, and how long that took
// with all attempts.
func Applied(networkType string, took time.Duration) {
	applied.WithLabelValues(typeLabel(networkType)).Observe(took.Seconds())
}

var (
	bundles         = newGauge("trellis_bundles", "Number of bundles that are written for Networks.", sum, "type", "bundle")
	bundleObjects   = newGauge("trellis_bundle_objects", "Number of objects in all bundles of this name.", sum, "type", "bundle")
	bundleBytes     = newGauge("trellis_bundle_size_bytes", "Size of all bundles of this name, as their Secrets hold them.", sum, "type", "bundle")
	bundleMostBytes = newGauge("trellis_bundle_max_size_bytes", "Size of the largest bundle of this name. Kubernetes limits a Secret to 1 MiB.", largest, "type", "bundle")
)

// Bundle is the size of one bundle of a Network.
type Bundle struct {
	// Name is that of the ManagedResource.
	Name string
	// Objects is their number.
	Objects int
	// Bytes is the size of the Secret's data.
	Bytes int
}

// Bundles states which bundles are written for a Network, in place of those before.
func Bundles(network types.NamespacedName, networkType string, written ...Bundle) {
	var number, objects, bytes []sample
	for _, b := range written {
		labels := []string{typeLabel(networkType), b.Name}
		number = append(number, sample{labels, 1})
		objects = append(objects, sample{labels, float64(b.Objects)})
		bytes = append(bytes, sample{labels, float64(b.Bytes)})
	}
	key := network.String()
	bundles.set(key, number...)
	bundleObjects.set(key, objects...)
	bundleBytes.set(key, bytes...)
	bundleMostBytes.set(key, bytes...)
}

var rolloutsStalled = newGauge("trellis_rollouts_stalled", "Number of Networks with a roll-out that makes no progress.", sum, "type")

// Rollout states whether a roll-out of a Network makes no progress.
func Rollout(network types.NamespacedName, networkType string, stalled bool) {
	rolloutsStalled.set(network.String(), sample{[]string{typeLabel(networkType)}, oneIf(stalled)})
}

var (
	rolloutNetworks = newGauge("trellis_rollout_networks", "Number of Networks by where they stand in the roll-out of a version of the operator, where that is paced.", sum, "phase")
	rolloutHalted   = newGauge("trellis_rollout_halted", "1 while too many Networks have failed for the roll-out to go on, otherwise 0.", largest)
)

// RolloutPhase states where a Network stands in a roll-out; empty means in none.
func RolloutPhase(network types.NamespacedName, phase string) {
	if phase == "" {
		rolloutNetworks.objects.Delete(network.String())
		return
	}
	rolloutNetworks.set(network.String(), sample{[]string{strings.ToLower(phase)}, 1})
}

// RolloutHalted states whether the roll-out is halted.
func RolloutHalted(halted bool) { rolloutHalted.set("", sample{nil, oneIf(halted)}) }

var (
	connectivity = newGauge("trellis_connectivity_networks",
		"Number of Networks with probes, by the status of their condition PodNetworkAvailable.", sum, "type", "status")
	connectivityTests = newGauge("trellis_connectivity_tests",
		"Number of Networks with probes, by the result of a test of all IP families.", sum, "type", "test", "result")
	connectivityEdges = newGauge("trellis_connectivity_edges",
		"Number of pairs of a probe and a target that were tested recently, in all Networks.", sum, "type", "result")
)

// ConnectivityOf is what the probes of a network report.
type ConnectivityOf struct {
	// Status is that of the condition.
	Status string
	// Tests has the result of each test, nil for one that is unknown.
	Tests map[string]*bool
	// Passing and Failing are numbers of edges.
	Passing, Failing int
}

// Connectivity states what is known of the connectivity of a Network.
func Connectivity(network types.NamespacedName, networkType string, of ConnectivityOf) {
	key, label := network.String(), typeLabel(networkType)
	connectivity.set(key, sample{[]string{label, strings.ToLower(of.Status)}, 1})
	var results []sample
	for test, passes := range of.Tests {
		result := "unknown"
		if passes != nil {
			result = map[bool]string{true: "passing", false: "failing"}[*passes]
		}
		results = append(results, sample{[]string{label, test, result}, 1})
	}
	connectivityTests.set(key, results...)
	connectivityEdges.set(key, sample{[]string{label, "passing"}, float64(of.Passing)}, sample{[]string{label, "failing"}, float64(of.Failing)})
}

// ForgetConnectivity removes what was stated of a Network that has no probes any more.
func ForgetConnectivity(network types.NamespacedName) {
	for _, g := range []*gauge{connectivity, connectivityTests, connectivityEdges} {
		g.objects.Delete(network.String())
	}
}

// ForgetNetwork removes what was stated of a Network that is gone.
func ForgetNetwork(network types.NamespacedName) { forget(network.String()) }

var shoots = newGauge("trellis_shoots", "Number of shoots that the operator has a kubeconfig for, by the answer to the last request.", sum, "state")

// ShootState is how a shoot answered the last request.
type ShootState string

const (
	// ShootReachable means that the shoot's API server answers.
	ShootReachable ShootState = "reachable"
	// ShootUnreachable means that it does not answer.
	ShootUnreachable ShootState = "unreachable"
	// ShootRefused means that it does not accept the credentials.
	ShootRefused ShootState = "refused"
)

// Shoot states how the shoot with its control plane in a namespace answered last.
func Shoot(namespace string, state ShootState) {
	var samples []sample
	for _, each := range []ShootState{ShootReachable, ShootUnreachable, ShootRefused} {
		samples = append(samples, sample{[]string{string(each)}, oneIf(each == state)})
	}
	shoots.set(namespace, samples...)
}

// ForgetShoot removes what was stated of a shoot that the operator no longer has access
// to.
func ForgetShoot(namespace string) { forget(namespace) }

var shootWrites = newCounter("trellis_shoot_writes_total", "Number of requests to shoots that write. Dry runs do not count.", "verb", "code")

// ShootWrite records a request that wrote to a shoot: the verb, and the status code of
// the answer, or 0 if there was none.
func ShootWrite(verb string, status int) {
	code := "none"
	if status > 0 {
		code = fmt.Sprintf("%dxx", status/100)
	}
	shootWrites.WithLabelValues(verb, code).Inc()
}
