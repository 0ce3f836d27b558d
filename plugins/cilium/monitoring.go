// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	_ "embed"
	"fmt"
	"maps"
	"sync"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	monitoringv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

// Dashboards, one file each.
var (
	//go:embed dashboards/cilium-agent-metrics-dashboard.json
	agentDashboard string
	//go:embed dashboards/cilium-operator-metrics-dashboard.json
	operatorDashboard string
	//go:embed dashboards/hubble-metrics-dashboard.json
	hubbleDashboard string
)

// dashboards have the names that Gardener's extension gives them, with its two hyphens.
var dashboards = map[string]string{
	"cilium-agent-metrics-dashboard.json":     agentDashboard,
	"cilium-operator-metrics--dashboard.json": operatorDashboard,
	"hubble-dashboard-metrics-dashboard.json": hubbleDashboard,
}

//go:embed metrics.yaml
var metricsDocument []byte

// keptMetrics are the names of the metrics that are kept.
var keptMetrics = sync.OnceValue(func() map[string][]string {
	metrics := map[string][]string{}
	if err := yaml.UnmarshalStrict(metricsDocument, &metrics); err != nil {
		panic(fmt.Sprintf("metrics.yaml: %v", err))
	}
	return metrics
})

// agentScrape names the ScrapeConfig for agents, and the rules for what it brings.
const agentScrape = "shoot-cilium-agent"

// seedMonitoring is what the shoot's Prometheus and dashboards in the seed need to know.
// Every network has all of it: without Hubble its dashboard is empty, so that users need
// not wonder whether a dashboard is missing.
func seedMonitoring(in *plugin.Input) []plugin.Object {
	const endpoints, pods = monitoringv1alpha1.KubernetesRoleEndpoint, monitoringv1alpha1.KubernetesRolePod
	at, kept := in.Namespace, keptMetrics()
	return []plugin.Object{
		system.Dashboards(at, "cilium-dashboards", maps.Clone(dashboards)),
		system.ScrapeConfig(at, agentScrape, endpoints, agentTargets("cilium-agent-metrics", "9090"), kept["agent"]),
		system.ScrapeConfig(at, "shoot-cilium-hubble", endpoints, agentTargets("hubble-metrics", "9091"), kept["hubble"]),
		system.ScrapeConfig(at, "shoot-cilium-operator", pods, operatorTargets(), kept["operator"]),
		system.Rules(at, agentScrape, "recording-rules.rules", monitoringv1.Rule{
			Record: "cilium:api_latency",
			Expr: intstr.FromString("histogram_quantile(0.99, " +
				"sum by (verb, method, path, le) (rate(cilium_agent_api_process_time_seconds_bucket[10m])))"),
			Labels: map[string]string{"quantile": "0.99"},
		}),
	}
}

// Labels by which Prometheus knows what it has found in the shoot.
const (
	podName       = "__meta_kubernetes_pod_name"
	podLabel      = "__meta_kubernetes_pod_label_"
	podAnnotation = "__meta_kubernetes_pod_annotation_"
	serviceWish   = "__meta_kubernetes_service_annotation_prometheus_io_scrape"
)

// agentTargets are agents behind a Service that asks for being scraped. The same Service
// leads to the ports of several jobs, so each job states its own.
func agentTargets(job, port string) []monitoringv1.RelabelConfig {
	return targets(job,
		monitoringv1.RelabelConfig{
			Action: "keep", Regex: agentName + ";true",
			SourceLabels: []monitoringv1.LabelName{podLabel + "k8s_app", serviceWish},
		},
		monitoringv1.RelabelConfig{
			Action: "replace", Regex: "(.+)", TargetLabel: metricsPath,
			SourceLabels: []monitoringv1.LabelName{podName},
			Replacement:  new(system.ProxiedMetrics("${1}", port)),
		})
}

// operatorTargets are operators, none of which is behind a Service.
func operatorTargets() []monitoringv1.RelabelConfig {
	return targets("cilium-operator-metrics",
		monitoringv1.RelabelConfig{
			Action: "keep", Regex: operatorApp + ";true",
			SourceLabels: []monitoringv1.LabelName{podLabel + "io_cilium_app", podAnnotation + "prometheus_io_scrape"},
		},
		monitoringv1.RelabelConfig{
			Action: "replace", Regex: "(.+);(.+)", TargetLabel: metricsPath,
			SourceLabels: []monitoringv1.LabelName{podName, podAnnotation + "prometheus_io_port"},
			Replacement:  new(system.ProxiedMetrics("${1}", "${2}")),
		})
}

const metricsPath = "__metrics_path__"

// targets selects what to scrape, sets the path of its metrics, and adds labels.
func targets(job string, which, where monitoringv1.RelabelConfig) []monitoringv1.RelabelConfig {
	return []monitoringv1.RelabelConfig{
		{Action: "replace", Replacement: new(job), TargetLabel: "job"},
		which,
		{Action: "labelmap", Regex: podLabel + "(.+)"},
		{Action: "replace", SourceLabels: []monitoringv1.LabelName{podName}, TargetLabel: "pod"},
		system.AtAPIServer(),
		where,
	}
}
