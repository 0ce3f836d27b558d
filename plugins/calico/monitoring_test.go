// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	monitoringv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/built"
)

// dashboards has the ConfigMap's key of each dashboard, and the ScrapeConfig that
// it lives on.
var dashboards = []struct{ key, scrape, uid string }{
	{"calico-felix-dashboard.json", "shoot-calico-felix", "calico-felix-dashboard"},
	{"calico-typha-dashboard.json", "shoot-calico-typha", "calico-typha-dashboard"},
	{"calico-bird-dashboard.json", "shoot-calico-bird", "ZFX1vGuHk"},
}

func dashboard(n *network, key string) *built.Dashboard {
	n.T.Helper()
	return built.ReadDashboard(n, "calico-dashboards", key)
}

func TestSeedGetsTheSameMonitoringForEveryNetwork(t *testing.T) {
	want := build(t, "").Objects.For(plugin.Seed)
	for _, each := range matrix {
		NewWithT(t).Expect(each.build(t).Objects.For(plugin.Seed)).To(Equal(want), each.name)
	}
	for _, config := range []string{"birdExporter: {enabled: true}", "typha: {enabled: false}"} {
		NewWithT(t).Expect(build(t, config).Objects.For(plugin.Seed)).To(Equal(want), config)
	}
}

func TestMonitoringIsInTheControlPlanesNamespace(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "")
	for _, object := range n.Objects.For(plugin.Seed) {
		g.Expect(object.GetNamespace()).To(Equal("shoot--test--one"), object.GetName())
	}
	g.Expect(built.Inventory(n.Objects.For(plugin.Seed))).To(ConsistOf("ConfigMap calico-dashboards",
		"ScrapeConfig shoot-calico-felix", "ScrapeConfig shoot-calico-typha", "ScrapeConfig shoot-calico-bird"))
	config := built.InSeed[*corev1.ConfigMap](n, "calico-dashboards")
	g.Expect(config.Labels).To(Equal(map[string]string{"dashboard.monitoring.gardener.cloud/shoot": "true"}))
	g.Expect(config.Data).To(HaveLen(len(dashboards)))
}

func TestScrapeConfigsReachPodsThroughTheAPIServer(t *testing.T) {
	for _, test := range []struct{ name, job, endpoints, keeps string }{
		{"shoot-calico-felix", "felix-metrics", "calico-felix-monitoring;metrics", "^(felix_.+)$"},
		{"shoot-calico-typha", "typha-metrics", "calico-typha-monitoring;metrics", "^(typha_.+)$"},
		{"shoot-calico-bird", "bird-metrics", "calico-bird-monitoring;bird-metrics",
			"^(bird_protocol_up.*|bird_protocol_prefix_export_count|bird_protocol_prefix_import_count)$"},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := built.InSeed[*monitoringv1alpha1.ScrapeConfig](build(t, ""), test.name)
			built.ExpectScrapeConfig(t, config, "Endpoints", `
				"relabelings": [
					{"action": "replace", "replacement": "`+test.job+`", "targetLabel": "job"},
					{"action": "keep", "regex": "`+test.endpoints+`",
						"sourceLabels": ["__meta_kubernetes_service_name", "__meta_kubernetes_pod_container_port_name"]},
					{"action": "replace", "sourceLabels": ["__meta_kubernetes_endpoint_node_name"], "targetLabel": "node"},
					{"action": "replace", "sourceLabels": ["__meta_kubernetes_pod_name"], "targetLabel": "pod"},
					{"action": "replace", "replacement": "kube-apiserver:443", "targetLabel": "__address__"},
					{"action": "replace", "regex": "(.+);(.+)", "targetLabel": "__metrics_path__",
						"sourceLabels": ["__meta_kubernetes_pod_name", "__meta_kubernetes_pod_container_port_number"],
						"replacement": "/api/v1/namespaces/kube-system/pods/${1}:${2}/proxy/metrics"}
				],
				"metricRelabelings": [{"action": "keep", "sourceLabels": ["__name__"], "regex": "`+test.keeps+`"}]`)
		})
	}
}

func TestScrapeConfigsNameServicesAndPortsThatThereAre(t *testing.T) {
	n := build(t, "birdExporter: {enabled: true}")
	workloads := map[string][]corev1.Container{
		"calico-node":  n.node().Spec.Template.Spec.Containers,
		"calico-typha": {typhaContainer(n)},
	}
	for _, each := range dashboards {
		t.Run(each.scrape, func(t *testing.T) {
			g := NewWithT(t)
			service, port, _ := strings.Cut(keptEndpoints(built.InSeed[*monitoringv1alpha1.ScrapeConfig](n, each.scrape)), ";")
			spec := need[*corev1.Service](n, service).Spec
			var numbers []int32
			for _, container := range workloads[spec.Selector["k8s-app"]] {
				for _, p := range container.Ports {
					if p.Name == port {
						numbers = append(numbers, p.ContainerPort)
					}
				}
			}
			g.Expect(numbers).To(ConsistOf(spec.Ports[0].Port))
		})
	}
}

func keptEndpoints(config *monitoringv1alpha1.ScrapeConfig) string {
	for _, relabeling := range config.Spec.RelabelConfigs {
		if relabeling.Action == "keep" {
			return relabeling.Regex
		}
	}
	return ""
}

func TestDashboardsCanBeDrawn(t *testing.T) {
	n := build(t, "")
	uids := map[string]bool{}
	for _, each := range dashboards {
		t.Run(each.key, func(t *testing.T) {
			g := NewWithT(t)
			d := dashboard(n, each.key)
			g.Expect(d.UID).To(Equal(each.uid))
			g.Expect(uids).NotTo(HaveKey(d.UID))
			uids[d.UID] = true
			d.ExpectToBeDrawn(t)
		})
	}
}

func TestDashboardsShowWhatGardenersDo(t *testing.T) {
	n := build(t, "")
	for _, test := range []struct{ key, title, from, rows, metrics string }{
		{"calico-felix-dashboard.json", "Felix Dashboard (Calico)", "now-6h", "Alerts and general info, Dataplane, Route table",
			`felix_active_local_endpoints felix_cluster_num_hosts felix_cluster_num_policies felix_logs_dropped
			felix_iptables_save_errors felix_iptables_restore_errors felix_ipset_errors felix_log_errors felix_resyncs_started
			felix_int_dataplane_apply_time_seconds felix_route_table_list_seconds`},
		{"calico-typha-dashboard.json", "Typha Dashboard (Calico)", "now-6h", "summaries, kvs and latency, General client info, Breadcrumb",
			`typha_next_breadcrumb_latency_secs typha_next_breadcrumb_latency_secs_count typha_next_breadcrumb_latency_secs_sum
			typha_client_snapshot_send_secs typha_client_snapshot_send_secs_count typha_client_snapshot_send_secs_sum
			typha_client_write_latency_secs_count typha_client_write_latency_secs_sum
			typha_connections_accepted typha_connections_dropped typha_connections_active typha_log_errors
			typha_kvs_per_msg typha_kvs_per_msg_count typha_kvs_per_msg_sum typha_ping_latency typha_ping_latency_count typha_ping_latency_sum
			typha_updates_total typha_updates_skipped
			typha_client_latency_secs typha_client_latency_secs_count typha_client_latency_secs_sum
			typha_breadcrumb_size typha_breadcrumb_size_count typha_breadcrumb_size_sum
			typha_breadcrumb_block typha_breadcrumb_non_block typha_breadcrumb_seq_number`},
		{"calico-bird-dashboard.json", "Bird Dashboard (Calico)", "now-5m", "General, Prefixes",
			"bird_protocol_up bird_protocol_uptime bird_protocol_prefix_export_count bird_protocol_prefix_import_count"},
	} {
		t.Run(test.title, func(t *testing.T) {
			g := NewWithT(t)
			d := dashboard(n, test.key)
			g.Expect(d.Title).To(Equal(test.title))
			g.Expect(d.Time.From + " " + d.Time.To).To(Equal(test.from + " now"))
			var metrics []string
			for _, query := range d.Queries() {
				metrics = append(metrics, built.MetricsIn(query)...)
			}
			g.Expect(strings.Join(d.Rows(), ", ")).To(Equal(test.rows))
			g.Expect(metrics).To(ContainElements(strings.Fields(test.metrics)))
		})
	}
	NewWithT(t).Expect(dashboard(n, "calico-bird-dashboard.json").Refresh).To(Equal("5s"))
}

func TestDashboardsOnlyAskForWhatIsKept(t *testing.T) {
	n := build(t, "")
	for _, each := range dashboards {
		t.Run(each.key, func(t *testing.T) { dashboard(n, each.key).ExpectOnly(t, built.KeptBy(n, each.scrape)) })
	}
}

func TestMetricsInAQueryAreFound(t *testing.T) {
	for query, want := range map[string][]string{
		`sum by (node) (rate(felix_log_errors{node=~"$node"}[5m]))`:                       {"felix_log_errors"},
		`count(bird_protocol_up{proto="BGP"} == 0) or vector(0)`:                          {"bird_protocol_up"},
		`sum(rate(typha_ping_latency_sum[5m])) / sum(rate(typha_ping_latency_count[5m]))`: {"typha_ping_latency_sum", "typha_ping_latency_count"},
		`label_values(typha_connections_active, pod)`:                                     {"typha_connections_active"},
	} {
		NewWithT(t).Expect(built.MetricsIn(query)).To(Equal(want))
	}
}
