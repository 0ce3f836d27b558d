// SPDX-License-Identifier: Apache-2.0

package calico

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trellis-network/trellis/plugin"
)

// Ports on which metrics are served.
const (
	felixMetricsPort = 9091
	typhaMetricsPort = 9093
	birdMetricsPort  = 9094
)

// monitoring are the Services through which a Prometheus finds the endpoints. The
// one for Typha is there even without Typha, as in Gardener's extension.
func (n *network) monitoring() []plugin.Object {
	services := []plugin.Object{
		metricsService("calico-felix-monitoring", nodeName, felixMetricsPort),
		metricsService("calico-typha-monitoring", typhaName, typhaMetricsPort),
	}
	if n.config.BirdExporter.Enabled {
		services = append(services, metricsService("calico-bird-monitoring", nodeName, birdMetricsPort))
	}
	return services
}

func metricsService(name, selectedApp string, port int32) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   typeMeta("v1", "Service"),
		ObjectMeta: named(name, nil),
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: app(selectedApp),
			Ports:    []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: port, TargetPort: intstr.FromInt32(port)}},
		},
	}
}
