// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// Names of what runs beside calico-node.
const (
	snatName             = "add-snat-rule-to-upstream-dns"
	conditionEnsurerName = "network-unavailable-condition-ensurer"
	birdExporterName     = "bird-exporter"
)

// snat masquerades pods' requests to the node's name servers.
func (n node) snat() corev1.Container {
	container := n.script(snatName, snatToUpstreamDNS)
	container.ImagePullPolicy = corev1.PullIfNotPresent
	container.Env = []corev1.EnvVar{{Name: "POD_CIDR", Value: n.masqueradedRange()}}
	container.VolumeMounts = []corev1.VolumeMount{{Name: "xtables-lock", MountPath: "/run/xtables.lock"}}
	if !n.isPrivileged() {
		container.SecurityContext = &corev1.SecurityContext{
			Privileged:               new(false),
			AllowPrivilegeEscalation: new(false),
			Capabilities:             &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN"}},
		}
	}
	return container
}

// masqueradedRange returns the IPv4 range in a network of both families, as in the address
// pool.
func (n node) masqueradedRange() string {
	if hasIPv4(n.config) {
		return podRangeIPv4(n.in)
	}
	return n.in.PodCIDR
}

// conditionEnsurer sets the condition that the node's network is available once more, since the
// former pod of calico-node sets the opposite when it ends, which may be later. The container
// detects the node's addresses as calico-node does, with the same variables. With backend none
// it only takes back what a former pod has set, and sees in calico-node's folder that there was
// one.
func (n node) conditionEnsurer(node system.Environment) corev1.Container {
	env := node.Only("CALICO_NETWORKING_BACKEND", "IP", "IP_AUTODETECTION_METHOD", "IP6", "IP6_AUTODETECTION_METHOD")
	env.Set("NO_DEFAULT_POOLS", "true")
	env.FromField("NODENAME", "spec.nodeName")
	container := corev1.Container{
		Name:            conditionEnsurerName,
		Image:           n.image(nodeImage),
		Command:         system.Shell(ensureCondition),
		Env:             env,
		SecurityContext: &corev1.SecurityContext{Privileged: new(false)},
	}
	if hasBackend(n.config, v1alpha1.None) {
		container.VolumeMounts = []corev1.VolumeMount{n.stateMount()}
	}
	return container
}

func (n node) birdExporter() corev1.Container {
	args := []string{"-format.new=true", "-bird.socket=/var/run/calico/bird.ctl"}
	if !hasIPv6(n.config) {
		args = append(args, "-bird.ipv6=false")
	}
	return corev1.Container{
		Name:  birdExporterName,
		Image: n.image("bird-exporter"),
		Args:  append(args, fmt.Sprintf("-web.listen-address=:%d", birdMetricsPort)),
		Ports: []corev1.ContainerPort{
			{Name: birdMetricsPortName, ContainerPort: birdMetricsPort, Protocol: corev1.ProtocolTCP},
		},
		Resources:    corev1.ResourceRequirements{Requests: system.Requests("10m", "32Mi")},
		VolumeMounts: []corev1.VolumeMount{{Name: "var-run-calico", MountPath: "/var/run/calico", ReadOnly: true}},
	}
}
