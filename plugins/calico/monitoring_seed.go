// SPDX-License-Identifier: Apache-2.0

package calico

import (
	_ "embed"
	"fmt"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	monitoringv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/plugin"
)

// What Gardener's monitoring of a shoot goes by.
const (
	prometheusLabel = "prometheus"
	shootPrometheus = "shoot"
	dashboardLabel  = "dashboard.monitoring.gardener.cloud/shoot"

	// apiServerInSeed is the shoot's API server as its Prometheus sees it, and
	// prometheusAccess the Secret with a token for it.
	apiServerInSeed  = "kube-apiserver"
	prometheusAccess = "shoot-access-prometheus-shoot"
)

// Dashboards, one file each, named as the ConfigMap's keys.
var (
	//go:embed dashboards/calico-felix-dashboard.json
	felixDashboard string
	//go:embed dashboards/calico-typha-dashboard.json
	typhaDashboard string
	//go:embed dashboards/calico-bird-dashboard.json
	birdDashboard string
)

// scrape is what a Prometheus fetches from one kind of endpoint.
type scrape struct {
	name, job string
	// service and port of its pods' containers name the endpoints.
	service, port string
	// metrics match the names of what is kept.
	metrics []string
}

var scrapes = []scrape{
	{
		name: "shoot-calico-felix", job: "felix-metrics",
		service: felixMetricsService, port: metricsPortName,
		metrics: []string{"felix_.+"},
	},
	{
		name: "shoot-calico-typha", job: "typha-metrics",
		service: typhaMetricsService, port: metricsPortName,
		metrics: []string{"typha_.+"},
	},
	{
		name: "shoot-calico-bird", job: "bird-metrics",
		service: birdMetricsService, port: birdMetricsPortName,
		metrics: []string{"bird_protocol_up.*", "bird_protocol_prefix_export_count", "bird_protocol_prefix_import_count"},
	},
}

// seedMonitoring is what the shoot's Prometheus and dashboards in the seed need to
// know. All of it is there in every network: who looks for a component that does
// not run finds nothing, and nobody has to ask whether a dashboard is missing.
func (n *network) seedMonitoring() []plugin.Object {
	objects := []plugin.Object{n.dashboards()}
	for _, s := range scrapes {
		objects = append(objects, n.scrapeConfig(s))
	}
	return objects
}

func (n *network) dashboards() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: typeMeta("v1", "ConfigMap"),
		ObjectMeta: metav1.ObjectMeta{
			Name: "calico-dashboards", Namespace: n.facts.Namespace,
			Labels: map[string]string{dashboardLabel: "true"},
		},
		Data: map[string]string{
			"calico-felix-dashboard.json": felixDashboard,
			"calico-typha-dashboard.json": typhaDashboard,
			"calico-bird-dashboard.json":  birdDashboard,
		},
	}
}

// scrapeConfig lets the Prometheus find the pods behind a Service in the shoot, and
// fetch their metrics through the shoot's API server, since it reaches no pod.
func (n *network) scrapeConfig(s scrape) *monitoringv1alpha1.ScrapeConfig {
	return &monitoringv1alpha1.ScrapeConfig{
		TypeMeta: typeMeta(monitoringv1alpha1.SchemeGroupVersion.String(), monitoringv1alpha1.ScrapeConfigsKind),
		ObjectMeta: metav1.ObjectMeta{
			Name: s.name, Namespace: n.facts.Namespace,
			Labels: map[string]string{prometheusLabel: shootPrometheus},
		},
		Spec: monitoringv1alpha1.ScrapeConfigSpec{
			Scheme:        new(monitoringv1.SchemeHTTPS),
			Authorization: prometheusToken(),
			TLSConfig:     anyCertificate(),
			KubernetesSDConfigs: []monitoringv1alpha1.KubernetesSDConfig{{
				APIServer:       new("https://" + apiServerInSeed),
				Role:            monitoringv1alpha1.KubernetesRoleEndpoint,
				Namespaces:      &monitoringv1alpha1.NamespaceDiscovery{Names: []string{namespace}},
				Authorization:   prometheusToken(),
				TLSConfig:       anyCertificate(),
				FollowRedirects: new(true),
			}},
			RelabelConfigs: s.targets(),
			MetricRelabelConfigs: []monitoringv1.RelabelConfig{{
				SourceLabels: []monitoringv1.LabelName{"__name__"},
				Action:       "keep",
				Regex:        "^(" + strings.Join(s.metrics, "|") + ")$",
			}},
		},
	}
}

// targets picks the endpoints to scrape and says where their metrics are.
func (s scrape) targets() []monitoringv1.RelabelConfig {
	const podName = "__meta_kubernetes_pod_name"
	return []monitoringv1.RelabelConfig{
		{Action: "replace", Replacement: &s.job, TargetLabel: "job"},
		{
			Action:       "keep",
			SourceLabels: []monitoringv1.LabelName{"__meta_kubernetes_service_name", "__meta_kubernetes_pod_container_port_name"},
			Regex:        s.service + ";" + s.port,
		},
		{Action: "replace", SourceLabels: []monitoringv1.LabelName{"__meta_kubernetes_endpoint_node_name"}, TargetLabel: "node"},
		{Action: "replace", SourceLabels: []monitoringv1.LabelName{podName}, TargetLabel: "pod"},
		{Action: "replace", Replacement: new(apiServerInSeed + ":443"), TargetLabel: "__address__"},
		{
			Action:       "replace",
			SourceLabels: []monitoringv1.LabelName{podName, "__meta_kubernetes_pod_container_port_number"},
			Regex:        "(.+);(.+)",
			Replacement:  new(fmt.Sprintf("/api/v1/namespaces/%s/pods/${1}:${2}/proxy/metrics", namespace)),
			TargetLabel:  "__metrics_path__",
		},
	}
}

func prometheusToken() *monitoringv1.SafeAuthorization {
	return &monitoringv1.SafeAuthorization{Credentials: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: prometheusAccess}, Key: "token",
	}}
}

// anyCertificate trusts the API server without looking at its certificate: it is
// next door in the control-plane namespace.
func anyCertificate() *monitoringv1.SafeTLSConfig {
	return &monitoringv1.SafeTLSConfig{InsecureSkipVerify: new(true)}
}
