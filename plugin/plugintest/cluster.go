// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
)

const (
	// controlPlane is the namespace in the seed of every cluster here.
	controlPlane = "shoot--plugintest--one"
	// atATime is on how many nodes agents may be missing where the user has decided it.
	atATime = 7

	ipv4 = extensionsv1alpha1.IPv4
	ipv6 = extensionsv1alpha1.IPv6
)

// ranges are those of each IP family.
var ranges = map[extensionsv1alpha1.IPFamily]struct{ pods, services, nodes string }{
	ipv4: {"100.96.0.0/11", "100.64.0.0/13", "10.250.0.0/16"},
	ipv6: {"2001:db8:1::/48", "2001:db8:2::/112", "2001:db8:3::/64"},
}

// cluster is a kind of cluster to make networks for.
type cluster struct {
	name      string
	families  []extensionsv1alpha1.IPFamily
	kubeProxy kubeProxy
	// with is what else is special about it; nil if nothing is.
	with func(*plugin.Input)
}

// isPlain reports whether nothing is special about it but its IP families.
func (c cluster) isPlain() bool { return c.with == nil && c.kubeProxy == kubeProxies[0] }

type kubeProxy struct {
	name string
	fact plugin.KubeProxy
}

// kubeProxies are all ways to run kube-proxy, and not to.
var kubeProxies = []kubeProxy{
	{"kube-proxy", plugin.KubeProxy{Enabled: true}},
	{"kube-proxy in mode IPTables", plugin.KubeProxy{Enabled: true, Mode: corev1beta1.ProxyModeIPTables}},
	{"kube-proxy in mode IPVS", plugin.KubeProxy{Enabled: true, Mode: corev1beta1.ProxyModeIPVS}},
	{"kube-proxy in mode NFTables", plugin.KubeProxy{Enabled: true, Mode: corev1beta1.ProxyModeNFTables}},
	{"no kube-proxy", plugin.KubeProxy{}},
}

var specialities = []struct {
	name string
	make func(*plugin.Input)
}{
	{"pods that get their access to the API server from the pipeline", func(f *plugin.Input) {
		f.PodAccess = &plugin.PodAccess{Host: "api.example.com", Port: "443"}
	}},
	{"a vertical pod autoscaler", func(f *plugin.Input) { f.VPA = true }},
	{"a DNS cache on the nodes", func(f *plugin.Input) { f.NodeLocalDNS = true }},
	{"a DNS cache on the nodes and a webhook", func(f *plugin.Input) {
		f.NodeLocalDNS, f.Webhook = true, &plugin.Webhook{URL: "https://webhook.example.com/adapt", CABundle: []byte(certificate)}
	}},
	{"no IP-in-IP", func(f *plugin.Input) { f.Infrastructure.NoIPIP = true }},
	{"routes made by the cloud", func(f *plugin.Input) { f.Infrastructure.PodRoutes = true }},
	{"routes made by nothing", func(f *plugin.Input) { f.Infrastructure.NoPodRoutes = true }},
	{"nodes of others beside its own", func(f *plugin.Input) { f.Infrastructure.OwnNetwork = false }},
	{"virtual functions", func(f *plugin.Input) { f.Infrastructure.VirtualFunctions = true }},
	{"thousands of nodes", func(f *plugin.Input) { f.NodesAtLeast, f.NodesAtMost = 1000, 5000 }},
	{"hibernated", func(f *plugin.Input) { f.Hibernated = true }},
	{"only a user's wishes known", func(f *plugin.Input) {
		f.Planned = true
		f.PodCIDRs, f.ServiceCIDRs, f.NodeCIDRs, f.APIServer.ExternalHost = nil, nil, nil, ""
	}},
}

// certificate belongs to no server, and its key was thrown away. API servers only check
// that it is a certificate.
//
//go:embed testdata/webhook-ca.crt
var certificate string

// familySets are the combinations of IP families that the plugin declares.
func familySets(p plugin.Plugin) [][]extensionsv1alpha1.IPFamily {
	return slices.DeleteFunc([][]extensionsv1alpha1.IPFamily{{ipv4}, {ipv6}, {ipv4, ipv6}, {ipv6, ipv4}},
		func(set []extensionsv1alpha1.IPFamily) bool { return !p.IPFamilies.Supports(set) })
}

// clustersFor are all combinations of the plugin's IP families and kube-proxy, and for each
// family all that can be special.
func clustersFor(p plugin.Plugin) []cluster {
	var all []cluster
	for _, families := range familySets(p) {
		name := fmt.Sprint(families)
		for _, proxy := range kubeProxies {
			all = append(all, cluster{name + " and " + proxy.name, families, proxy, nil})
		}
		special := func(what string, make func(*plugin.Input)) {
			all = append(all, cluster{name + " and " + what, families, kubeProxies[0], make})
		}
		for _, one := range specialities {
			special(one.name, one.make)
		}
		special("overlays refused", func(f *plugin.Input) { f.Infrastructure.RefusesOverlay = []string{p.Type} })
		for _, gate := range p.FeatureGates {
			special(fmt.Sprintf("feature gate %s=%t", gate.Name, !gate.Default), func(f *plugin.Input) {
				f.FeatureGates[gate.Name] = !gate.Default
			})
		}
		if len(families) > 1 {
			special("only the first of them so far", func(f *plugin.Input) { f.IPFamilies = families[:1] })
		}
	}
	return all
}

// input is a new one each time, so that no hook can spoil it for others. change comes
// before what makes the cluster what it is.
func (c cluster) input(gates []plugin.FeatureGate, change func(*plugin.Input)) plugin.Input {
	facts := plugin.Input{
		Facts: plugin.Facts{
			Namespace: controlPlane, KubernetesVersion: "1.36.3",
			NodesAtLeast: 3, NodesAtMost: 5,
			APIServer:      plugin.APIServer{ExternalHost: "api.example.com"},
			Infrastructure: plugin.Infrastructure{OwnNetwork: true},
		},
		Environment: plugin.Environment{FeatureGates: map[string]bool{}},
		Decisions:   plugin.Decisions{MaxUnavailable: atATime, FromAnnotation: true},
	}
	for _, gate := range gates {
		facts.FeatureGates[gate.Name] = gate.Default
	}
	if change != nil {
		change(&facts)
	}
	facts.KubeProxy = c.kubeProxy.fact
	setFamilies(&facts, c.families)
	if c.with != nil {
		c.with(&facts)
	}
	return facts
}

// setFamilies also sets the ranges: those of the spec, which for both families are those of
// IPv4, and those of all families that a Shoot's status has.
func setFamilies(facts *plugin.Input, families []extensionsv1alpha1.IPFamily) {
	facts.IPFamilies, facts.WantedIPFamilies = slices.Clone(families), slices.Clone(families)
	spec := ranges[ipv4]
	if !facts.HasIPFamily(ipv4) {
		spec = ranges[ipv6]
		spec.nodes = ""
	}
	facts.PodCIDR, facts.ServiceCIDR, facts.NodeCIDR = spec.pods, spec.services, spec.nodes
	facts.PodCIDRs, facts.ServiceCIDRs, facts.NodeCIDRs = nil, nil, nil
	for _, family := range families {
		facts.PodCIDRs = append(facts.PodCIDRs, ranges[family].pods)
		facts.ServiceCIDRs = append(facts.ServiceCIDRs, ranges[family].services)
		facts.NodeCIDRs = append(facts.NodeCIDRs, ranges[family].nodes)
	}
}

// successors are, for each fact, what may become of it while a network runs, there and
// back. One that is not possible in a cluster leaves the fact as it is. They give facts
// other lists and never change those that are there.
var successors = map[plugin.Fact][]func(*plugin.Input){
	plugin.FactIPFamilies:        {addIPv6, awaitIPv6},
	plugin.FactKubernetesVersion: {version(0, 1), version(1, 0), version(-1, 0)},
	plugin.FactKubeProxy:         {func(f *plugin.Input) { f.KubeProxy.Enabled = !f.KubeProxy.Enabled }},
	plugin.FactKubeProxyMode:     {mode(corev1beta1.ProxyModeIPTables), mode(corev1beta1.ProxyModeIPVS), mode(corev1beta1.ProxyModeNFTables)},
	plugin.FactVPA:               {func(f *plugin.Input) { f.VPA = !f.VPA }},
	plugin.FactNodeLocalDNS:      {func(f *plugin.Input) { f.NodeLocalDNS = !f.NodeLocalDNS }},
	plugin.FactNodeRange:         {func(f *plugin.Input) { f.NodeCIDR = another(f.NodeCIDR) }, func(f *plugin.Input) { f.NodeCIDR = "" }},
	plugin.FactPodRanges:         listsAfter(func(f *plugin.Input) *[]string { return &f.PodCIDRs }),
	plugin.FactServiceRanges:     listsAfter(func(f *plugin.Input) *[]string { return &f.ServiceCIDRs }),
	plugin.FactNodeRanges:        listsAfter(func(f *plugin.Input) *[]string { return &f.NodeCIDRs }),
	plugin.FactAPIServer: {
		func(f *plugin.Input) { f.APIServer.ExternalHost = "another." + f.APIServer.ExternalHost },
		func(f *plugin.Input) { f.APIServer.ExternalHost = "" },
	},
}

// addIPv6 is what happens to a cluster of IPv4, and to no other.
func addIPv6(f *plugin.Input) {
	if len(f.IPFamilies) == 1 && f.IPFamilies[0] == ipv4 {
		setFamilies(f, []extensionsv1alpha1.IPFamily{ipv4, ipv6})
	}
}

// awaitIPv6 makes of a cluster of both what it was before its nodes were ready.
func awaitIPv6(f *plugin.Input) {
	if len(f.IPFamilies) > 1 && f.IPFamilies[0] == ipv4 {
		f.IPFamilies = f.IPFamilies[:1:1]
	}
}

// version moves the Kubernetes version by so many minor or patch versions.
func version(minors, patches int) func(*plugin.Input) {
	return func(f *plugin.Input) {
		if was, err := utilversion.ParseGeneric(f.KubernetesVersion); err == nil {
			f.KubernetesVersion = fmt.Sprintf("%d.%d.%d", was.Major(), int(was.Minor())+minors, int(was.Patch())+patches)
		}
	}
}

// mode only changes where kube-proxy runs.
func mode(to corev1beta1.ProxyMode) func(*plugin.Input) {
	return func(f *plugin.Input) {
		if f.KubeProxy.Enabled {
			f.KubeProxy.Mode = to
		}
	}
}

// listsAfter are what may become of a list of ranges: another one for the first or the last
// IP family, one more, or none known.
func listsAfter(field func(*plugin.Input) *[]string) []func(*plugin.Input) {
	var all []func(*plugin.Input)
	for _, next := range []func(list []string) []string{
		func(list []string) []string { return slices.Replace(list, 0, 1, another(list[0])) },
		func(list []string) []string { return append(list[:len(list)-1], another(list[len(list)-1])) },
		func(list []string) []string { return append(list, another(list[0])) },
		func([]string) []string { return nil },
	} {
		all = append(all, func(f *plugin.Input) {
			if list := field(f); len(*list) > 0 {
				*list = next(slices.Clone(*list))
			}
		})
	}
	return all
}

// another is an unused range of the same IP family and size; what is no range stays.
func another(was string) string {
	_, size, ok := strings.Cut(was, "/")
	switch {
	case !ok:
		return was
	case strings.Contains(was, ":"):
		return "2001:db8:ffff::/" + size
	default:
		return "10.0.0.0/" + size
	}
}
