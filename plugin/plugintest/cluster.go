// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	_ "embed"
	"fmt"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
)

// controlPlane is the namespace in the seed of every cluster here.
const controlPlane = "shoot--plugintest--one"

// atATime is on how many nodes agents may be missing where the user has decided it.
const atATime = 7

// The ranges of pods, Services and nodes.
var (
	ipv4Ranges = ranges{"100.96.0.0/11", "100.64.0.0/13", "10.250.0.0/16"}
	ipv6Ranges = ranges{"2001:db8:1::/48", "2001:db8:2::/112", "2001:db8:3::/64"}
)

type ranges struct{ pods, services, nodes string }

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

// kubeProxy is how kube-proxy runs, in words and as a fact.
type kubeProxy struct {
	name string
	fact plugin.KubeProxy
}

// kubeProxies are all ways to run it, and not to.
var kubeProxies = []kubeProxy{
	{"kube-proxy", plugin.KubeProxy{Enabled: true}},
	{"kube-proxy in mode IPTables", plugin.KubeProxy{Enabled: true, Mode: corev1beta1.ProxyModeIPTables}},
	{"kube-proxy in mode IPVS", plugin.KubeProxy{Enabled: true, Mode: corev1beta1.ProxyModeIPVS}},
	{"kube-proxy in mode NFTables", plugin.KubeProxy{Enabled: true, Mode: corev1beta1.ProxyModeNFTables}},
	{"no kube-proxy", plugin.KubeProxy{}},
}

// specialities are what can be special about a cluster.
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
	{"nodes of others beside its own", func(f *plugin.Input) { f.Infrastructure.OwnNetwork = false }},
	{"virtual functions", func(f *plugin.Input) { f.Infrastructure.VirtualFunctions = true }},
	{"thousands of nodes", func(f *plugin.Input) { f.NodesAtLeast, f.NodesAtMost = 1000, 5000 }},
	{"hibernated", func(f *plugin.Input) { f.Hibernated = true }},
	{"only a user's wishes known", func(f *plugin.Input) {
		f.Planned = true
		f.PodCIDRs, f.ServiceCIDRs, f.NodeCIDRs, f.APIServer.ExternalHost = nil, nil, nil, ""
	}},
}

// familySets are the combinations of IP families that the plugin declares.
func familySets(p plugin.Plugin) [][]extensionsv1alpha1.IPFamily {
	const ipv4, ipv6 = extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6
	var sets [][]extensionsv1alpha1.IPFamily
	for _, set := range [][]extensionsv1alpha1.IPFamily{{ipv4}, {ipv6}, {ipv4, ipv6}, {ipv6, ipv4}} {
		if p.IPFamilies.Supports(set) {
			sets = append(sets, set)
		}
	}
	return sets
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
	facts.IPFamilies = append(facts.IPFamilies[:0:0], c.families...)
	facts.WantedIPFamilies = append(facts.WantedIPFamilies[:0:0], c.families...)
	c.setRanges(&facts)
	if c.with != nil {
		c.with(&facts)
	}
	return facts
}

// setRanges sets those of the spec, which for both families are those of IPv4, and
// those of all families that a Shoot's status has.
func (c cluster) setRanges(facts *plugin.Input) {
	spec := ipv4Ranges
	facts.NodeCIDR = ipv4Ranges.nodes
	if len(c.families) == 1 && c.families[0] == extensionsv1alpha1.IPv6 {
		spec, facts.NodeCIDR = ipv6Ranges, ""
	}
	facts.PodCIDR, facts.ServiceCIDR = spec.pods, spec.services
	facts.PodCIDRs, facts.ServiceCIDRs, facts.NodeCIDRs = nil, nil, nil
	for _, family := range c.families {
		its := ipv4Ranges
		if family == extensionsv1alpha1.IPv6 {
			its = ipv6Ranges
		}
		facts.PodCIDRs = append(facts.PodCIDRs, its.pods)
		facts.ServiceCIDRs = append(facts.ServiceCIDRs, its.services)
		facts.NodeCIDRs = append(facts.NodeCIDRs, its.nodes)
	}
}

// certificate belongs to no server, and its key was thrown away. API servers only check
// that it is a certificate.
//
//go:embed testdata/webhook-ca.crt
var certificate string
