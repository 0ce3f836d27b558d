// SPDX-License-Identifier: Apache-2.0

// Package metrics has the metrics of Trellis, beside those that controller-runtime
// brings. Controllers call a function for what happened; the names, labels and buckets
// are stated here and nowhere else. docs/metrics.md lists them for users, and a test
// compares the two.
//
// Every label has a bounded number of values: none of them is the name of a cluster, and
// a type of networks that no plugin serves becomes "other". What is counted for a
// Network or a shoot no longer counts once that is gone.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	reconciliations = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "trellis_reconciliation_duration_seconds",
		Help:    "Duration of reconciliations. Their count is the number of reconciliations with that outcome.",
		Buckets: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180},
	}, []string{"controller", "type", "outcome"})

	applied = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "trellis_network_apply_duration_seconds",
		Help:    "Time from the start of an operation on a Network until its objects are applied in the shoot.",
		Buckets: []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600},
	}, []string{"type"})

	bundles         = newGauge("trellis_bundles", "Number of bundles that are written for Networks.", sum, "type", "bundle")
	bundleObjects   = newGauge("trellis_bundle_objects", "Number of objects in all bundles of this name.", sum, "type", "bundle")
	bundleBytes     = newGauge("trellis_bundle_size_bytes", "Size of all bundles of this name, as their Secrets hold them.", sum, "type", "bundle")
	bundleMostBytes = newGauge("trellis_bundle_max_size_bytes", "Size of the largest bundle of this name. Kubernetes limits a Secret to 1 MiB.", largest, "type", "bundle")

	rolloutsStalled = newGauge("trellis_rollouts_stalled", "Number of Networks with a roll-out that makes no progress.", sum, "type")

	shoots = newGauge("trellis_shoots", "Number of shoots that the operator has a kubeconfig for, by the answer to the last request.", sum, "state")

	shootWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "trellis_shoot_writes_total",
		Help: "Number of requests to shoots that write. Dry runs do not count.",
	}, []string{"verb", "code"})
)

// collectors are all metrics of Trellis.
var collectors = []prometheus.Collector{
	reconciliations, applied, bundles, bundleObjects, bundleBytes, bundleMostBytes, rolloutsStalled, shoots, shootWrites,
}

func init() { ctrlmetrics.Registry.MustRegister(collectors...) }
