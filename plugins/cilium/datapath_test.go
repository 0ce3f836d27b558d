// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

func TestUsersAreToldHowPacketsTravel(t *testing.T) {
	networks.ExpectDataPaths(t, map[string]string{
		"":                          "VXLAN between nodes; routes by Cilium's agents",
		"tunnel: geneve":            "Geneve between nodes; routes by Cilium's agents",
		"overlay: {enabled: false}": "no encapsulation; routes by the infrastructure",
		"overlay: {enabled: false, createPodRoutes: true}": "no encapsulation; routes by Cilium's agents",
		"encryption: {enabled: true, mode: wireguard}":     "VXLAN between nodes; routes by Cilium's agents; encrypted with WireGuard",
	})
}

// Without a tunnel agents also lack other things, but who provides these still lacks routes.
func TestWhereNothingMakesRoutesTheAdviceIsToHaveThem(t *testing.T) {
	island := func(f *plugin.Input) { f.Infrastructure = plugin.Infrastructure{NoPodRoutes: true, OwnNetwork: true} }
	const ownRoutes = "overlay: {enabled: false, createPodRoutes: true}"
	for config, test := range map[string]struct {
		at       string
		followed []string
	}{
		"tunnel: disabled": {"tunnel", []string{"tunnel: vxlan"}},
		"{tunnel: disabled, enableIpv6Masquerade: true}":         {"tunnel", []string{"{tunnel: vxlan, enableIpv6Masquerade: true}"}},
		"loadBalancingMode: dsr":                                 {"loadBalancingMode", []string{"loadBalancingMode: snat", "{" + ownRoutes + ", loadBalancingMode: dsr}"}},
		"overlay: {enabled: false}":                              {"overlay.enabled", []string{"overlay: {enabled: true}", ownRoutes}},
		"{overlay: {enabled: false}, tunnel: disabled}":          {"overlay.enabled", []string{"overlay: {enabled: true}"}},
		"{tunnel: disabled, ipv4NativeRoutingCIDREnabled: true}": {"tunnel", []string{"tunnel: vxlan"}},
	} {
		t.Run(config, func(t *testing.T) {
			g := NewWithT(t)
			refused := try(t, config, island)
			g.Expect(refused.Refusals()).To(Equal([]string{"Forbidden @ " + test.at}))
			g.Expect(refused.Warned("tunnel")).To(BeEmpty())
			for _, followed := range test.followed {
				n := try(t, followed, island)
				g.Expect(n.Errors).To(BeEmpty(), followed)
				g.Expect(n.Warned("tunnel")).To(BeEmpty(), followed)
			}
		})
	}
}
