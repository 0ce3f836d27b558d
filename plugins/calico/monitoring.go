// SPDX-License-Identifier: Apache-2.0

package calico

import (
	_ "embed"
	"slices"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

// Names of the ports on which metrics are served.
const (
	metricsPortName     = "metrics"
	birdMetricsPortName = "bird-metrics"
)

// monitoring are the Services through which a Prometheus finds the endpoints. The
// one for Typha is there even without Typha, as in Gardener's extension.
func (n *network) monitoring() []plugin.Object {
	if n.config.BirdExporter.Enabled {
		return slices.Concat(metricsServices(), birdMetrics())
	}
	return metricsServices()
}

// Dashboards, one file each, named as the ConfigMap's keys.
var (
	//go:embed dashboards/calico-felix-dashboard.json
	felixDashboard string
	//go:embed dashboards/calico-typha-dashboard.json
	typhaDashboard string
	//go:embed dashboards/calico-bird-dashboard.json
	birdDashboard string
)

var scrapes = []system.Scrape{
	{
		Name: "shoot-calico-felix", Job: "felix-metrics",
		Service: "calico-felix-monitoring", Port: metricsPortName,
		Metrics: []string{"felix_.+"},
	},
	{
		Name: "shoot-calico-typha", Job: "typha-metrics",
		Service: "calico-typha-monitoring", Port: metricsPortName,
		Metrics: []string{"typha_.+"},
	},
	{
		Name: "shoot-calico-bird", Job: "bird-metrics",
		Service: "calico-bird-monitoring", Port: birdMetricsPortName,
		Metrics: []string{"bird_protocol_up.*", "bird_protocol_prefix_export_count", "bird_protocol_prefix_import_count"},
	},
}

// seedMonitoring is what the shoot's Prometheus and dashboards in the seed need to
// know. Every network has all of it: the dashboard of a component that does not run is
// empty, so that users need not wonder whether a dashboard is missing.
func seedMonitoring(shootNamespace string) []plugin.Object {
	objects := []plugin.Object{system.Dashboards(shootNamespace, "calico-dashboards", map[string]string{
		"calico-felix-dashboard.json": felixDashboard,
		"calico-typha-dashboard.json": typhaDashboard,
		"calico-bird-dashboard.json":  birdDashboard,
	})}
	for _, s := range scrapes {
		objects = append(objects, s.Config(shootNamespace))
	}
	return objects
}
