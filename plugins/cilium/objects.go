// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trellis-network/trellis/plugin/system"
)

// namespace is where everything is that has a namespace.
const namespace = metav1.NamespaceSystem

// Labels of Kubernetes' own vocabulary, which all of Cilium's objects have.
const (
	nameLabel   = "app.kubernetes.io/name"
	partOfLabel = "app.kubernetes.io/part-of"
	partOf      = "cilium"
)

// Annotations by which a Prometheus finds what to scrape.
const (
	scrapeAnnotation     = "prometheus.io/scrape"
	scrapePortAnnotation = "prometheus.io/port"
)

// named adds what a component is called, and what it is part of, to its labels.
func named(name string, labels map[string]string) map[string]string {
	labels[nameLabel], labels[partOfLabel] = name, partOf
	return labels
}

// component are the labels of a component whose pods are selected by its own name.
func component(name string) map[string]string { return named(name, system.App(name)) }

// memory asks for memory only. How much processor time a component needs depends on
// what pods do, and a request would keep nodes from taking pods.
func memory(quantity string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(quantity)}
}

// sameNode are affinity terms for the nodes that pods with a label are on.
func sameNode(label, value string) []corev1.PodAffinityTerm {
	return []corev1.PodAffinityTerm{{
		LabelSelector: system.Selecting(map[string]string{label: value}),
		TopologyKey:   corev1.LabelHostname,
	}}
}

// anyTaint tolerates whatever a node is tainted with.
func anyTaint() []corev1.Toleration {
	return []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
}

// sharedGroup is the context of pods whose volumes belong to group 1.
func sharedGroup() *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{
		FSGroup:            new(int64(1)),
		SupplementalGroups: []int64{1},
		SeccompProfile:     system.RuntimeDefault(),
	}
}

// capable gives a container these capabilities of the kernel and no others. It leaves
// escalation unset, which has no effect on a container that adds SYS_ADMIN.
func capable(capabilities ...corev1.Capability) *corev1.SecurityContext {
	return &corev1.SecurityContext{
		Capabilities: &corev1.Capabilities{Add: slices.Clone(capabilities), Drop: []corev1.Capability{"ALL"}},
	}
}

// onHost lets a container touch the node's files where SELinux would not.
func onHost(context *corev1.SecurityContext) *corev1.SecurityContext {
	context.SELinuxOptions = &corev1.SELinuxOptions{Level: "s0", Type: "spc_t"}
	return context
}

// confined keeps a container from getting more rights than it starts with.
func confined(context *corev1.SecurityContext) *corev1.SecurityContext {
	context.AllowPrivilegeEscalation = new(false)
	return context
}

// projected are files that a container alone reads, put together from Secrets.
func projected(name string, secrets ...*corev1.SecretProjection) corev1.Volume {
	sources := make([]corev1.VolumeProjection, 0, len(secrets))
	for _, secret := range secrets {
		sources = append(sources, corev1.VolumeProjection{Secret: secret})
	}
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: new(int32(0o400)), Sources: sources,
	}}}
}

// certificate gives the three parts of a Secret with a certificate the names under
// which a program looks for them.
func certificate(secret, cert, key, ca string) *corev1.SecretProjection {
	return &corev1.SecretProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: secret},
		Items: []corev1.KeyToPath{
			{Key: corev1.TLSCertKey, Path: cert},
			{Key: corev1.TLSPrivateKeyKey, Path: key},
			{Key: corev1.ServiceAccountRootCAKey, Path: ca},
		},
	}
}

// decimal writes a number in decimal notation.
func decimal(number int32) string { return strconv.Itoa(int(number)) }

// Ports at which components serve, all of them on the node itself.
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

// scraped are annotations that ask for being scraped at a port.
func scraped(port int32) map[string]string {
	return map[string]string{scrapeAnnotation: "true", scrapePortAnnotation: decimal(port)}
}

// healthz asks a program for its health. It answers on the node's own loopback.
func (n *network) healthz(port intstr.IntOrString, headers ...corev1.HTTPHeader) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
		Host: n.loopback(), Path: "/healthz", Port: port, Scheme: corev1.URISchemeHTTP, HTTPHeaders: headers,
	}}
}

func (n *network) loopback() string {
	if hasIPv4(n.config) {
		return "127.0.0.1"
	}
	return "::1"
}
