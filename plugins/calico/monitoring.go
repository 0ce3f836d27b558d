// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

// Ports on which metrics are served.
const (
	felixMetricsPort = 9091
	typhaMetricsPort = 9093
	birdMetricsPort  = 9094
)

// Names of the Services that lead to them, and of the containers' ports.
const (
	felixMetricsService = "calico-felix-monitoring"
	typhaMetricsService = "calico-typha-monitoring"
	birdMetricsService  = "calico-bird-monitoring"

	metricsPortName     = "metrics"
	birdMetricsPortName = "bird-metrics"
)

// monitoring are the Services through which a Prometheus finds the endpoints. The
// one for Typha is there even without Typha, as in Gardener's extension.
func (n *network) monitoring() []plugin.Object {
	if n.config.BirdExporter.Enabled {
		return slices.Concat(metricsServices, birdMetrics)
	}
	return metricsServices
}

var (
	metricsServices = plugin.Constants(
		metricsService(felixMetricsService, nodeName, felixMetricsPort),
		metricsService(typhaMetricsService, typhaName, typhaMetricsPort),
	)
	birdMetrics = plugin.Constants(metricsService(birdMetricsService, nodeName, birdMetricsPort))
)

func metricsService(name, selectedApp string, port int32) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   system.TypeMeta("v1", "Service"),
		ObjectMeta: system.Named(name, nil),
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: system.App(selectedApp),
			Ports:    []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: port, TargetPort: intstr.FromInt32(port)}},
		},
	}
}
