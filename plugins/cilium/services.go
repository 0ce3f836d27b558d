// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

// Ports at which components serve, all of them on the node itself but those of
// Hubble's relay and UI.
const (
	agentMetricsPort    = 9090
	agentHealthPort     = 9879
	hubbleMetricsPort   = 9091
	hubblePeerPort      = 4244
	operatorMetricsPort = 6942
	operatorHealthPort  = 9234
	envoyMetricsPort    = 9964
	envoyHealthPort     = 9878
)

// Names of containers' ports to which Services lead.
const (
	hubbleMetricsPortName = "hubble-metrics"
	hubblePeerPortName    = "peer-service"
	envoyMetricsPortName  = "envoy-metrics"
)

// metricsServices let a Prometheus find agents and proxies. Hubble's is there even
// without Hubble: agents are found by it too.
var metricsServices = plugin.Constants(
	metricsService("hubble-metrics", hubbleMetricsPortName, hubbleMetricsPort, agentName, system.App("hubble")),
	metricsService(envoyName, envoyMetricsPortName, envoyMetricsPort, envoyName, envoyServiceLabels()),
)

func envoyServiceLabels() map[string]string {
	labels := component(envoyName)
	labels[appLabel] = "proxy"
	return labels
}

func metricsService(name, portName string, port int32, selectedApp string, labels map[string]string) *corev1.Service {
	service := service(name, labels, selectedApp, corev1.ServicePort{
		Name: portName, Protocol: corev1.ProtocolTCP, Port: port, TargetPort: intstr.FromString(portName),
	})
	service.Annotations = scraped(port)
	service.Spec.ClusterIP = corev1.ClusterIPNone
	return service
}

// scraped are annotations that ask for being scraped at a port.
func scraped(port int32) map[string]string {
	return map[string]string{scrapeAnnotation: "true", scrapePortAnnotation: decimal(port)}
}

func service(name string, labels map[string]string, selectedApp string, port corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   system.TypeMeta("v1", "Service"),
		ObjectMeta: system.Named(name, labels),
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: system.App(selectedApp),
			Ports:    []corev1.ServicePort{port},
		},
	}
}
