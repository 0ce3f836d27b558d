// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

func TestServices(t *testing.T) {
	n := build(t, hubbleEnabled)
	for _, test := range []struct{ name, labels, annotations, selector, port, clusterIP, policy string }{
		{name: "hubble-metrics", labels: "k8s-app=hubble", annotations: "prometheus.io/port=9091 prometheus.io/scrape=true",
			selector: "k8s-app=cilium", port: "hubble-metrics 9091/TCP > hubble-metrics", clusterIP: "None"},
		{name: "cilium-envoy", labels: envoyLabels + " io.cilium/app=proxy k8s-app=cilium-envoy",
			annotations: "prometheus.io/port=9964 prometheus.io/scrape=true",
			selector:    "k8s-app=cilium-envoy", port: "envoy-metrics 9964/TCP > envoy-metrics", clusterIP: "None"},
		{name: "hubble-relay", labels: labelsOf("hubble-relay"), selector: "k8s-app=hubble-relay", port: " 80/TCP > 4245"},
		{name: "hubble-ui", labels: labelsOf("hubble-ui"), selector: "k8s-app=hubble-ui", port: "http 80/TCP > 8081"},
		{name: "hubble-peer", labels: "app.kubernetes.io/name=hubble-peer " + partOfCilium + " k8s-app=cilium",
			selector: "k8s-app=cilium", port: "peer-service 443/TCP > 4244", policy: "Local"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			service := need[*corev1.Service](n, test.name)
			g.Expect(pairs(service.Labels)).To(Equal(test.labels))
			g.Expect(pairs(service.Annotations)).To(Equal(test.annotations))
			g.Expect(pairs(service.Spec.Selector)).To(Equal(test.selector))
			g.Expect(service.Spec.Type).To(Equal(corev1.ServiceTypeClusterIP))
			g.Expect(service.Spec.ClusterIP).To(Equal(test.clusterIP))
			g.Expect(service.Spec.Ports).To(HaveLen(1))
			port := service.Spec.Ports[0]
			g.Expect(fmt.Sprintf("%s %d/%s > %s", port.Name, port.Port, port.Protocol, port.TargetPort.String())).To(Equal(test.port))
			policy := ""
			if p := service.Spec.InternalTrafficPolicy; p != nil {
				policy = string(*p)
			}
			g.Expect(policy).To(Equal(test.policy))
		})
	}
}
