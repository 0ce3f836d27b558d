// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	monitoringv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/built"
	"github.com/trellis-network/trellis/test/contract"
)

// dashboards have the key that they have in the ConfigMap, and the ScrapeConfig that brings
// their metrics.
var dashboards = []struct{ key, scrape, uid, title, rows string }{
	{"cilium-agent-metrics-dashboard.json", "shoot-cilium-agent", "dtas", "Cilium Agent Metrics",
		"General, Process, Packets, Network, Policies, Pods, API"},
	{"cilium-operator-metrics--dashboard.json", "shoot-cilium-operator", "fsafdsf", "Cilium Operator Metrics", "Process"},
	{"hubble-dashboard-metrics-dashboard.json", "shoot-cilium-hubble", "seafadsfdsa", "Cilium Hubble Metrics", "General, Network, Policies"},
}

func dashboard(n *network, key string) *built.Dashboard {
	n.T.Helper()
	return built.ReadDashboard(n, "cilium-dashboards", key)
}

func TestSeedGetsTheSameMonitoringForEveryNetwork(t *testing.T) {
	want := build(t, "").Objects.For(plugin.Seed)
	for _, each := range stock {
		NewWithT(t).Expect(each.build(t).Objects.For(plugin.Seed)).To(Equal(want), each.name)
	}
}

func TestMonitoringIsInTheControlPlanesNamespace(t *testing.T) {
	contract.Shows(t, "P6")
	g := NewWithT(t)
	n := build(t, "")
	for _, object := range n.Objects.For(plugin.Seed) {
		g.Expect(object.GetNamespace()).To(Equal("shoot--test--one"), object.GetName())
	}
	config := built.InSeed[*corev1.ConfigMap](n, "cilium-dashboards")
	g.Expect(config.Labels).To(Equal(map[string]string{"dashboard.monitoring.gardener.cloud/shoot": "true"}))
	g.Expect(config.Data).To(HaveLen(len(dashboards)))
}

func TestScrapeConfigsReachPodsThroughTheAPIServer(t *testing.T) {
	contract.Shows(t, "P6")
	const (
		podNames = `"__meta_kubernetes_pod_name"`
		agents   = `"sourceLabels": ["__meta_kubernetes_pod_label_k8s_app", "__meta_kubernetes_service_annotation_prometheus_io_scrape"], "regex": "cilium;true"`
		pods     = "/api/v1/namespaces/kube-system/pods/"
	)
	for _, test := range []struct{ name, role, job, keeps, at string }{
		{"shoot-cilium-agent", "Endpoints", "cilium-agent-metrics", agents,
			`"sourceLabels": [` + podNames + `], "regex": "(.+)", "replacement": "` + pods + `${1}:9090/proxy/metrics"`},
		{"shoot-cilium-hubble", "Endpoints", "hubble-metrics", agents,
			`"sourceLabels": [` + podNames + `], "regex": "(.+)", "replacement": "` + pods + `${1}:9091/proxy/metrics"`},
		{"shoot-cilium-operator", "Pod", "cilium-operator-metrics",
			`"sourceLabels": ["__meta_kubernetes_pod_label_io_cilium_app", "__meta_kubernetes_pod_annotation_prometheus_io_scrape"], "regex": "operator;true"`,
			`"sourceLabels": [` + podNames + `, "__meta_kubernetes_pod_annotation_prometheus_io_port"], "regex": "(.+);(.+)",
				"replacement": "` + pods + `${1}:${2}/proxy/metrics"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := built.InSeed[*monitoringv1alpha1.ScrapeConfig](build(t, ""), test.name)
			config.Spec.MetricRelabelConfigs = nil // see below
			built.ExpectScrapeConfig(t, config, test.role, `
				"relabelings": [
					{"action": "replace", "replacement": "`+test.job+`", "targetLabel": "job"},
					{"action": "keep", `+test.keeps+`},
					{"action": "labelmap", "regex": "__meta_kubernetes_pod_label_(.+)"},
					{"action": "replace", "sourceLabels": [`+podNames+`], "targetLabel": "pod"},
					{"action": "replace", "replacement": "kube-apiserver:443", "targetLabel": "__address__"},
					{"action": "replace", "targetLabel": "__metrics_path__", `+test.at+`}
				]`)
		})
	}
}

func TestMetricsThatAreKept(t *testing.T) {
	n := build(t, "")
	for scrape, metrics := range map[string]string{
		"shoot-cilium-hubble":   "hubble_drop_total hubble_flows_processed_total hubble_icmp_total hubble_port_distribution_total hubble_tcp_flags_total",
		"shoot-cilium-operator": "cilium_operator_process_cpu_seconds_total cilium_operator_process_resident_memory_bytes",
		"shoot-cilium-agent": `cilium_agent_api_process_time_seconds_bucket cilium_agent_api_process_time_seconds_count
			cilium_agent_api_process_time_seconds_sum cilium_bpf_map_ops_total cilium_bpf_maps_virtual_memory_max_bytes
			cilium_bpf_progs_virtual_memory_max_bytes cilium_bpf_syscall_duration_seconds_count cilium_bpf_syscall_duration_seconds_sum
			cilium_controllers_failing cilium_controllers_runs_duration_seconds_count cilium_controllers_runs_duration_seconds_sum
			cilium_controllers_runs_total cilium_datapath_conntrack_gc_entries cilium_datapath_errors_total cilium_drop_bytes_total
			cilium_drop_count_total cilium_endpoint_regeneration_time_stats_seconds_bucket cilium_endpoint_regenerations cilium_endpoint_state
			cilium_errors_warnings_total cilium_forward_bytes_total cilium_forward_count_total cilium_ip_addresses
			cilium_k8s_client_api_calls_counter cilium_k8s_client_api_latency_time_seconds_count cilium_k8s_client_api_latency_time_seconds_sum
			cilium_kubernetes_events_received_total cilium_kubernetes_events_total cilium_kvstore_events_queue_seconds_count
			cilium_kvstore_operations_duration_seconds_sum cilium_nodes_all_events_received_total cilium_nodes_all_num cilium_policy_count
			cilium_policy_endpoint_enforcement_status cilium_policy_import_errors cilium_policy_l7_denied_total cilium_policy_l7_forwarded_total
			cilium_policy_l7_parse_errors_total cilium_policy_l7_received_total cilium_policy_max_revision cilium_process_cpu_seconds_total
			cilium_process_open_fds cilium_process_resident_memory_bytes cilium_process_virtual_memory_bytes cilium_proxy_redirects
			cilium_proxy_upstream_reply_seconds_count cilium_proxy_upstream_reply_seconds_sum cilium_services_events_total
			cilium_triggers_policy_update_call_duration_seconds_sum cilium_triggers_policy_update_total cilium_unreachable_health_endpoints
			cilium_unreachable_nodes kvstore_operations_total`,
	} {
		t.Run(scrape, func(t *testing.T) {
			g := NewWithT(t)
			expression := built.KeptBy(n, scrape)
			g.Expect(expression).To(And(HavePrefix("^("), HaveSuffix(")$")))
			kept := strings.Split(strings.TrimSuffix(strings.TrimPrefix(expression, "^("), ")$"), "|")
			slices.Sort(kept)
			g.Expect(kept).To(Equal(strings.Fields(metrics)))
		})
	}
}

// A Service leads to agents whose name does not say so, and is there without Hubble.
func TestAgentsAreFoundBehindAServiceThatAsksForIt(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "")
	service := need[*corev1.Service](n, "hubble-metrics")
	g.Expect(service.Annotations).To(HaveKeyWithValue("prometheus.io/scrape", "true"))
	for name, value := range service.Spec.Selector {
		g.Expect(n.agent().Spec.Template.Labels).To(HaveKeyWithValue(name, value))
	}
	g.Expect(portsOf(n.container("cilium-agent"))).To(And(ContainSubstring(":9090/"), ContainSubstring(":9091/")))
	g.Expect(n.operator().Spec.Template.Annotations).To(HaveKeyWithValue("prometheus.io/port", "6942"))
}

func TestLatencyOfTheAgentsAPIIsRecorded(t *testing.T) {
	g := NewWithT(t)
	rule := built.InSeed[*monitoringv1.PrometheusRule](build(t, ""), "shoot-cilium-agent")
	g.Expect(rule.Labels).To(Equal(map[string]string{"prometheus": "shoot"}))
	g.Expect(rule.Spec.Groups).To(HaveLen(1))
	g.Expect(rule.Spec.Groups[0].Name).To(Equal("recording-rules.rules"))
	g.Expect(rule.Spec.Groups[0].Rules).To(HaveLen(1))
	recorded := rule.Spec.Groups[0].Rules[0]
	g.Expect(recorded.Record).To(Equal("cilium:api_latency"))
	g.Expect(recorded.Labels).To(Equal(map[string]string{"quantile": "0.99"}))
	g.Expect(recorded.Expr.StrVal).To(Equal(
		"histogram_quantile(0.99, sum by (verb, method, path, le) (rate(cilium_agent_api_process_time_seconds_bucket[10m])))"))
}

func TestDashboardsCanBeDrawn(t *testing.T) {
	n := build(t, "")
	for _, each := range dashboards {
		t.Run(each.key, func(t *testing.T) {
			g := NewWithT(t)
			d := dashboard(n, each.key)
			g.Expect(d.UID + " " + d.Title).To(Equal(each.uid + " " + each.title))
			d.ExpectToBeDrawn(t)
			g.Expect(d.Templating.List).To(HaveLen(1))
			g.Expect(strings.Join(d.Rows(), ", ")).To(Equal(each.rows))
		})
	}
}

func TestDashboardsOnlyAskForWhatIsKept(t *testing.T) {
	n := build(t, "")
	for _, each := range dashboards {
		t.Run(each.key, func(t *testing.T) { dashboard(n, each.key).ExpectOnly(t, built.KeptBy(n, each.scrape)) })
	}
}
