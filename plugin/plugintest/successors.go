// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"slices"
	"strings"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
)

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
	plugin.FactPodRanges:         rangesOf(func(f *plugin.Input) *[]string { return &f.PodCIDRs }),
	plugin.FactServiceRanges:     rangesOf(func(f *plugin.Input) *[]string { return &f.ServiceCIDRs }),
	plugin.FactNodeRanges:        rangesOf(func(f *plugin.Input) *[]string { return &f.NodeCIDRs }),
	plugin.FactAPIServer: {
		func(f *plugin.Input) { f.APIServer.ExternalHost = "another." + f.APIServer.ExternalHost },
		func(f *plugin.Input) { f.APIServer.ExternalHost = "" },
	},
}

// addIPv6 is what happens to a cluster of IPv4, and to no other.
func addIPv6(f *plugin.Input) {
	if len(f.IPFamilies) != 1 || f.IPFamilies[0] != extensionsv1alpha1.IPv4 {
		return
	}
	f.IPFamilies = []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6}
	f.WantedIPFamilies = slices.Clone(f.IPFamilies)
	cluster{families: f.IPFamilies}.setRanges(f)
}

// awaitIPv6 makes of a cluster of both what it was before its nodes were ready.
func awaitIPv6(f *plugin.Input) {
	if len(f.IPFamilies) > 1 && f.IPFamilies[0] == extensionsv1alpha1.IPv4 {
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

// rangesOf are what may become of a list of ranges: another one for the first or the last
// IP family, one more, and none known.
func rangesOf(field func(*plugin.Input) *[]string) []func(*plugin.Input) {
	change := func(of func(list []string) []string) func(*plugin.Input) {
		return func(f *plugin.Input) {
			if list := field(f); len(*list) > 0 {
				*list = of(slices.Clone(*list))
			}
		}
	}
	replace := func(list []string, i int) []string {
		list[i] = another(list[i])
		return list
	}
	return []func(*plugin.Input){
		change(func(list []string) []string { return replace(list, 0) }),
		change(func(list []string) []string { return replace(list, len(list)-1) }),
		change(func(list []string) []string { return append(list, another(list[0])) }),
		change(func([]string) []string { return nil }),
	}
}

// another is an unused range of the same IP family and of the same size. If was is no
// range, another returns it unchanged.
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
