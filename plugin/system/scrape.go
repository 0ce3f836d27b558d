// SPDX-License-Identifier: Apache-2.0

package system

import (
	"fmt"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	monitoringv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// Dashboards is the ConfigMap from which the shoot's dashboards in the seed are taken.
// The data has one file each, by name.
func Dashboards(namespace, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: TypeMeta("v1", "ConfigMap"),
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace, Labels: map[string]string{dashboardLabel: "true"},
		},
		Data: data,
	}
}

// Scrape is what a shoot's Prometheus fetches from one kind of endpoint in the shoot.
type Scrape struct {
	// Name of the ScrapeConfig, and Job the label of what is fetched.
	Name, Job string
	// Service, and Port of its pods' containers, name the endpoints.
	Service, Port string
	// Metrics match the names of what is kept.
	Metrics []string
}

// Config lets the Prometheus in a control-plane namespace find the pods behind the
// Service in the shoot.
func (s Scrape) Config(namespace string) *monitoringv1alpha1.ScrapeConfig {
	return ScrapeConfig(namespace, s.Name, monitoringv1alpha1.KubernetesRoleEndpoint, s.targets(), s.Metrics)
}

// ScrapeConfig lets the Prometheus in a control-plane namespace look for what has a
// role in the shoot's kube-system, pick targets among it, and keep the metrics whose
// names match. It asks the shoot's API server, since it reaches no pod; targets
// therefore need a path, as ProxiedMetrics gives them one.
func ScrapeConfig(
	namespace, name string, role monitoringv1alpha1.KubernetesRole, targets []monitoringv1.RelabelConfig, metrics []string,
) *monitoringv1alpha1.ScrapeConfig {
	return &monitoringv1alpha1.ScrapeConfig{
		TypeMeta: TypeMeta(monitoringv1alpha1.SchemeGroupVersion.String(), monitoringv1alpha1.ScrapeConfigsKind),
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace,
			Labels: map[string]string{prometheusLabel: shootPrometheus},
		},
		Spec: monitoringv1alpha1.ScrapeConfigSpec{
			Scheme:        new(monitoringv1.SchemeHTTPS),
			Authorization: prometheusToken(),
			TLSConfig:     anyCertificate(),
			KubernetesSDConfigs: []monitoringv1alpha1.KubernetesSDConfig{{
				APIServer:       new("https://" + apiServerInSeed),
				Role:            role,
				Namespaces:      &monitoringv1alpha1.NamespaceDiscovery{Names: []string{metav1.NamespaceSystem}},
				Authorization:   prometheusToken(),
				TLSConfig:       anyCertificate(),
				FollowRedirects: new(true),
			}},
			RelabelConfigs: targets,
			MetricRelabelConfigs: []monitoringv1.RelabelConfig{{
				SourceLabels: []monitoringv1.LabelName{"__name__"},
				Action:       "keep",
				Regex:        "^(" + strings.Join(metrics, "|") + ")$",
			}},
		},
	}
}

// ProxiedMetrics is the path under which the API server passes on a pod's metrics. pod
// and port may refer to what a relabeling has matched.
func ProxiedMetrics(pod, port string) string {
	return fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:%s/proxy/metrics", metav1.NamespaceSystem, pod, port)
}

// AtAPIServer lets all targets be fetched from the API server.
func AtAPIServer() monitoringv1.RelabelConfig {
	return monitoringv1.RelabelConfig{Action: "replace", Replacement: new(apiServerInSeed + ":443"), TargetLabel: "__address__"}
}

// Rules gives the Prometheus of a control-plane namespace a group of rules.
func Rules(namespace, name, group string, rules ...monitoringv1.Rule) *monitoringv1.PrometheusRule {
	return &monitoringv1.PrometheusRule{
		TypeMeta: TypeMeta(monitoringv1.SchemeGroupVersion.String(), monitoringv1.PrometheusRuleKind),
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace,
			Labels: map[string]string{prometheusLabel: shootPrometheus},
		},
		Spec: monitoringv1.PrometheusRuleSpec{Groups: []monitoringv1.RuleGroup{{Name: group, Rules: rules}}},
	}
}

// targets picks the endpoints to scrape and says where their metrics are.
func (s Scrape) targets() []monitoringv1.RelabelConfig {
	const podName = "__meta_kubernetes_pod_name"
	return []monitoringv1.RelabelConfig{
		{Action: "replace", Replacement: new(s.Job), TargetLabel: "job"},
		{
			Action:       "keep",
			SourceLabels: []monitoringv1.LabelName{"__meta_kubernetes_service_name", "__meta_kubernetes_pod_container_port_name"},
			Regex:        s.Service + ";" + s.Port,
		},
		{Action: "replace", SourceLabels: []monitoringv1.LabelName{"__meta_kubernetes_endpoint_node_name"}, TargetLabel: "node"},
		{Action: "replace", SourceLabels: []monitoringv1.LabelName{podName}, TargetLabel: "pod"},
		AtAPIServer(),
		{
			Action:       "replace",
			SourceLabels: []monitoringv1.LabelName{podName, "__meta_kubernetes_pod_container_port_number"},
			Regex:        "(.+);(.+)",
			Replacement:  new(ProxiedMetrics("${1}", "${2}")),
			TargetLabel:  "__metrics_path__",
		},
	}
}

func prometheusToken() *monitoringv1.SafeAuthorization {
	return &monitoringv1.SafeAuthorization{Credentials: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: prometheusAccess}, Key: "token",
	}}
}

// anyCertificate trusts the API server without verifying its certificate: it runs in
// Prometheus' own namespace, the control plane's.
func anyCertificate() *monitoringv1.SafeTLSConfig {
	return &monitoringv1.SafeTLSConfig{InsecureSkipVerify: new(true)}
}
