// SPDX-License-Identifier: Apache-2.0

// Package probe has the objects of the probe that Trellis adds to each network: a DaemonSet whose
// pods test what pods rely on, and what they need. cmd/trellis-probe is its program.
package probe

import (
	"embed"
	"net"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/manifest"
)

// BundleName is the name of the ManagedResource.
const BundleName = "trellis-connectivity-probe"

//go:embed manifests
var manifests embed.FS

//go:embed images.yaml
var imagesYAML []byte

var (
	// Images has the image of the probe.
	Images = plugin.ParseImages(imagesYAML)
	// definition is the kind of the reports.
	definition = manifest.Constants(manifests, "manifests/connectivity.trellis.network_nodeconnectivities.yaml")
	// access is what a probe may do.
	access = manifest.Constants(manifests, "manifests/access.yaml")
	// policy is the NetworkPolicy.
	policy = manifest.Constants(manifests, "manifests/networkpolicy.yaml")
	// objects are the Service and the DaemonSet.
	objects = manifest.Component(manifests, "manifests/probe.yaml", Images)
)

// since is the version of Kubernetes without which a report cannot be bound to its node: it has
// ValidatingAdmissionPolicies, tokens that state the node of their pod (KEP-4193), and the
// addresses of the node in the downward API.
var since = utilversion.MajorMinor(1, 30)

// Bundle returns the probe's bundle. It is false if the operator or the user wants none, and in
// clusters whose Kubernetes is older than 1.30. An unknown version counts as new enough. No
// success waits for the probe.
func Bundle(in *plugin.Input) (plugin.Bundle, bool) {
	if in.Probe == nil {
		return plugin.Bundle{}, false
	}
	if version, err := utilversion.ParseGeneric(in.KubernetesVersion); err == nil && version.LessThan(since) {
		return plugin.Bundle{}, false
	}
	return plugin.Bundle{
		// The probes go before the network: their pods cannot end once the agents of the network, or
		// the rights of its CNI plugin, are gone.
		Name: BundleName, Target: plugin.Shoot, KeepOnMigrate: true, Phase: plugin.ExtrasPhase,
		Objects: slices.Concat(definition(), access(), forNetwork(in)),
	}, true
}

// forNetwork returns the objects that depend on the operator's settings: the target outside of the
// cluster, and the ports that probes must reach for it and for the API server.
func forNetwork(in *plugin.Input) []plugin.Object {
	made := objects(in)
	var ports []string
	if in.PodAccess != nil {
		ports = append(ports, in.PodAccess.Port)
	}
	if _, port, err := net.SplitHostPort(in.Probe.OutsideTarget); err == nil {
		ports = append(ports, port)
		container := manifest.Container(&manifest.Workload[*appsv1.DaemonSet](made).Spec.Template.Spec, "probe")
		container.Args = []string{"--outside=" + in.Probe.OutsideTarget}
	}
	return append(made, policyWith(ports))
}

// policyWith returns the NetworkPolicy with more TCP ports that probes may send to.
func policyWith(ports []string) plugin.Object {
	made := policy()[0].DeepCopyObject().(*networkingv1.NetworkPolicy)
	egress := &made.Spec.Egress[len(made.Spec.Egress)-1]
	for _, text := range ports {
		number, err := strconv.ParseUint(text, 10, 16)
		port, tcp := intstr.FromInt32(int32(number)), corev1.ProtocolTCP
		known := slices.ContainsFunc(egress.Ports, func(p networkingv1.NetworkPolicyPort) bool { return *p.Port == port && *p.Protocol == tcp })
		if err == nil && !known {
			egress.Ports = append(egress.Ports, networkingv1.NetworkPolicyPort{Port: &port, Protocol: &tcp})
		}
	}
	return made
}

// Unprotect takes the NetworkPolicy away, for a cluster with a network that would take probes of another one for
// none.
func Unprotect(objects *plugin.Objects) {
	for i := range objects.Bundles {
		if bundle := &objects.Bundles[i]; bundle.Name == BundleName {
			bundle.Objects = slices.DeleteFunc(slices.Clone(bundle.Objects), func(object plugin.Object) bool {
				_, is := object.(*networkingv1.NetworkPolicy)
				return is
			})
		}
	}
}
