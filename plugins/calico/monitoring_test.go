// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	monitoringv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// inSeed returns the object for the seed of that type and name.
func inSeed[T plugin.Object](n *network, name string) T {
	n.t.Helper()
	for _, object := range n.Objects.Seed {
		if typed, ok := object.(T); ok && typed.GetName() == name {
			return typed
		}
	}
	var none T
	n.t.Fatalf("the seed gets no %T %s", none, name)
	return none
}

// dashboard is a dashboard as Plutono reads it, as far as these tests look at it.
type dashboard struct {
	UID           string `json:"uid"`
	Title         string `json:"title"`
	SchemaVersion int    `json:"schemaVersion"`
	Refresh       string `json:"refresh"`
	Time          struct{ From, To string }
	Panels        []dashboardPanel `json:"panels"`
	Templating    struct {
		List []struct {
			Name  string `json:"name"`
			Query string `json:"query"`
		} `json:"list"`
	} `json:"templating"`
}

type dashboardPanel struct {
	ID      int    `json:"id"`
	Type    string `json:"type"`
	Title   string `json:"title"`
	GridPos struct{ X, Y, W, H int }
	Targets []struct {
		Expr string `json:"expr"`
	} `json:"targets"`
}

func (d *dashboard) queries() []string {
	var list []string
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			list = append(list, target.Expr)
		}
	}
	for _, variable := range d.Templating.List {
		list = append(list, variable.Query)
	}
	return list
}

// dashboards has the ConfigMap's key of each dashboard, and the ScrapeConfig that
// it lives on.
var dashboards = []struct{ key, scrape, uid string }{
	{"calico-felix-dashboard.json", "shoot-calico-felix", "calico-felix-dashboard"},
	{"calico-typha-dashboard.json", "shoot-calico-typha", "calico-typha-dashboard"},
	{"calico-bird-dashboard.json", "shoot-calico-bird", "ZFX1vGuHk"},
}

func decodeDashboard(t *testing.T, n *network, key string) *dashboard {
	t.Helper()
	raw := inSeed[*corev1.ConfigMap](n, "calico-dashboards").Data[key]
	parsed := &dashboard{}
	if err := json.Unmarshal([]byte(raw), parsed); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return parsed
}

func TestSeedGetsTheSameMonitoringForEveryNetwork(t *testing.T) {
	want := build(t, "").Objects.Seed
	for _, each := range matrix {
		NewWithT(t).Expect(each.build(t).Objects.Seed).To(Equal(want), each.name)
	}
	for _, config := range []string{"birdExporter: {enabled: true}", "typha: {enabled: false}"} {
		NewWithT(t).Expect(build(t, config).Objects.Seed).To(Equal(want), config)
	}
}

func TestMonitoringIsInTheControlPlanesNamespace(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "")
	var got []string
	for _, object := range n.Objects.Seed {
		g.Expect(object.GetNamespace()).To(Equal("shoot--test--one"), object.GetName())
		got = append(got, object.GetObjectKind().GroupVersionKind().Kind+" "+object.GetName())
	}
	g.Expect(got).To(ConsistOf("ConfigMap calico-dashboards",
		"ScrapeConfig shoot-calico-felix", "ScrapeConfig shoot-calico-typha", "ScrapeConfig shoot-calico-bird"))
	config := inSeed[*corev1.ConfigMap](n, "calico-dashboards")
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
			g := NewWithT(t)
			config := inSeed[*monitoringv1alpha1.ScrapeConfig](build(t, ""), test.name)
			document, err := pipeline.Document(config)
			g.Expect(err).NotTo(HaveOccurred())
			raw, err := json.Marshal(document)
			g.Expect(err).NotTo(HaveOccurred())
			const access = `"authorization": {"credentials": {"name": "shoot-access-prometheus-shoot", "key": "token"}},
				"tlsConfig": {"ca": {}, "cert": {}, "insecureSkipVerify": true}`
			g.Expect(raw).To(MatchJSON(`{
				"apiVersion": "monitoring.coreos.com/v1alpha1", "kind": "ScrapeConfig",
				"metadata": {"name": "` + test.name + `", "namespace": "shoot--test--one", "labels": {"prometheus": "shoot"}},
				"spec": {
					"scheme": "HTTPS", ` + access + `,
					"kubernetesSDConfigs": [{
						"role": "Endpoints", "apiServer": "https://kube-apiserver", "namespaces": {"names": ["kube-system"]},
						"followRedirects": true, ` + access + `
					}],
					"relabelings": [
						{"action": "replace", "replacement": "` + test.job + `", "targetLabel": "job"},
						{"action": "keep", "regex": "` + test.endpoints + `",
							"sourceLabels": ["__meta_kubernetes_service_name", "__meta_kubernetes_pod_container_port_name"]},
						{"action": "replace", "sourceLabels": ["__meta_kubernetes_endpoint_node_name"], "targetLabel": "node"},
						{"action": "replace", "sourceLabels": ["__meta_kubernetes_pod_name"], "targetLabel": "pod"},
						{"action": "replace", "replacement": "kube-apiserver:443", "targetLabel": "__address__"},
						{"action": "replace", "regex": "(.+);(.+)", "targetLabel": "__metrics_path__",
							"sourceLabels": ["__meta_kubernetes_pod_name", "__meta_kubernetes_pod_container_port_number"],
							"replacement": "/api/v1/namespaces/kube-system/pods/${1}:${2}/proxy/metrics"}
					],
					"metricRelabelings": [{"action": "keep", "sourceLabels": ["__name__"], "regex": "` + test.keeps + `"}]
				}}`))
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
			service, port, _ := strings.Cut(keptEndpoints(inSeed[*monitoringv1alpha1.ScrapeConfig](n, each.scrape)), ";")
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
			d := decodeDashboard(t, n, each.key)
			g.Expect(d.UID).To(Equal(each.uid))
			g.Expect(uids).NotTo(HaveKey(d.UID))
			uids[d.UID] = true
			g.Expect(d.Title).NotTo(BeEmpty())
			g.Expect(d.SchemaVersion).To(Equal(27), "that of Plutono, which branched off Grafana 7.5")
			ids, cells := map[int]bool{}, map[[2]int]string{}
			for _, panel := range d.Panels {
				g.Expect(panel.Title).NotTo(BeEmpty())
				g.Expect([]string{"row", "stat", "graph"}).To(ContainElement(panel.Type), panel.Title)
				g.Expect(panel.ID).To(BeNumerically(">", 0), panel.Title)
				g.Expect(ids).NotTo(HaveKey(panel.ID), panel.Title)
				ids[panel.ID] = true
				g.Expect(len(panel.Targets) > 0).To(Equal(panel.Type != "row"), panel.Title)
				at := panel.GridPos
				g.Expect(at.X+at.W).To(BeNumerically("<=", 24), panel.Title)
				for x := at.X; x < at.X+at.W; x++ {
					for y := at.Y; y < at.Y+at.H; y++ {
						g.Expect(cells[[2]int{x, y}]).To(BeEmpty(), "%s lies under it", panel.Title)
						cells[[2]int{x, y}] = panel.Title
					}
				}
			}
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
			d := decodeDashboard(t, n, test.key)
			g.Expect(d.Title).To(Equal(test.title))
			g.Expect(d.Time.From + " " + d.Time.To).To(Equal(test.from + " now"))
			var rows, metrics []string
			for _, panel := range d.Panels {
				if panel.Type == "row" {
					rows = append(rows, panel.Title)
				}
			}
			for _, query := range d.queries() {
				metrics = append(metrics, metricsIn(query)...)
			}
			g.Expect(strings.Join(rows, ", ")).To(Equal(test.rows))
			g.Expect(metrics).To(ContainElements(strings.Fields(test.metrics)))
		})
	}
	NewWithT(t).Expect(decodeDashboard(t, n, "calico-bird-dashboard.json").Refresh).To(Equal("5s"))
}

// What a query says that is no metric: matchers, groupings, ranges, and the words of
// the query language.
var (
	notMetrics = regexp.MustCompile(`"[^"]*"|\{[^}]*\}|\[[^\]]*\]|\b(by|without) \([^)]*\)`)
	identifier = regexp.MustCompile(`[a-zA-Z_][a-zA-Z0-9_]*`)
	vocabulary = []string{"sum", "avg", "max", "min", "count", "rate", "increase", "deriv", "or", "vector"}
	labelQuery = regexp.MustCompile(`^label_values\((\w+), \w+\)$`)
)

// metricsIn returns the metrics that a query reads.
func metricsIn(query string) []string {
	if match := labelQuery.FindStringSubmatch(query); match != nil {
		return match[1:]
	}
	var metrics []string
	for _, word := range identifier.FindAllString(notMetrics.ReplaceAllString(query, ""), -1) {
		if !slices.Contains(vocabulary, word) {
			metrics = append(metrics, word)
		}
	}
	return metrics
}

func TestDashboardsOnlyAskForWhatIsKept(t *testing.T) {
	n := build(t, "")
	for _, each := range dashboards {
		t.Run(each.key, func(t *testing.T) {
			g := NewWithT(t)
			keeps := inSeed[*monitoringv1alpha1.ScrapeConfig](n, each.scrape).Spec.MetricRelabelConfigs
			g.Expect(keeps).To(HaveLen(1))
			g.Expect(keeps[0].SourceLabels).To(Equal([]monitoringv1.LabelName{"__name__"}))
			kept := regexp.MustCompile(keeps[0].Regex)
			for _, query := range decodeDashboard(t, n, each.key).queries() {
				g.Expect(metricsIn(query)).NotTo(BeEmpty(), query)
				for _, metric := range metricsIn(query) {
					g.Expect(kept.MatchString(metric)).To(BeTrue(), "%s in %s", metric, query)
				}
			}
		})
	}
}

func TestMetricsInAQueryAreFound(t *testing.T) {
	for query, want := range map[string][]string{
		`sum by (node) (rate(felix_log_errors{node=~"$node"}[5m]))`:                       {"felix_log_errors"},
		`count(bird_protocol_up{proto="BGP"} == 0) or vector(0)`:                          {"bird_protocol_up"},
		`sum(rate(typha_ping_latency_sum[5m])) / sum(rate(typha_ping_latency_count[5m]))`: {"typha_ping_latency_sum", "typha_ping_latency_count"},
		`label_values(typha_connections_active, pod)`:                                     {"typha_connections_active"},
	} {
		NewWithT(t).Expect(metricsIn(query)).To(Equal(want))
	}
}
