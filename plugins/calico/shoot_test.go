// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico"
)

func shootWith(config string, families ...string) *corev1beta1.Shoot {
	shoot := &corev1beta1.Shoot{}
	shoot.Spec.Networking = &corev1beta1.Networking{IPFamilies: families}
	if config != "" {
		shoot.Spec.Networking.ProviderConfig = &runtime.RawExtension{Raw: []byte(config)}
	}
	return shoot
}

// inLandscape is what is known of a cluster on an infrastructure whose controllers make routes.
func inLandscape() *plugin.Input {
	return &plugin.Input{Facts: plugin.Facts{Infrastructure: plugin.Infrastructure{OverlayOff: true}}}
}

// The infrastructure's controllers read in the Shoot whether there is an overlay.
func TestWhereThereAreRoutesShootsStateThatThereIsNoOverlay(t *testing.T) {
	const off = `{"overlay":{"enabled":false}}`
	for name, test := range map[string]struct {
		old, config, want string
		isNew             bool
		families          []string
	}{
		"no config":                              {config: "", isNew: true, want: `{"apiVersion":"calico.networking.extensions.gardener.cloud/v1alpha1","kind":"NetworkConfig","overlay":{"enabled":false}}`},
		"an empty one":                           {config: `{}`, isNew: true, want: off},
		"something else":                         {config: `{"typha":{"enabled":false}}`, isNew: true, want: `{"overlay":{"enabled":false},"typha":{"enabled":false}}`},
		"an overlay":                             {config: `{"overlay":{"enabled":true}}`, isNew: true, want: `{"overlay":{"enabled":true}}`},
		"an overlay of nothing":                  {config: `{"overlay":null}`, isNew: true, want: off},
		"a backend of nothing":                   {config: `{"backend":null,"typha":{"enabled":null}}`, isNew: true, want: `{"overlay":{"enabled":false},"typha":{"enabled":null}}`},
		"an overlay that is taken out":           {old: `{"overlay":{"enabled":true}}`, config: `{"overlay":null}`, want: `{"overlay":{"enabled":true}}`},
		"a backend":                              {config: `{"backend":"bird"}`, isNew: true, want: `{"backend":"bird"}`},
		"a pool":                                 {config: `{"ipv4":{"pool":"vxlan"}}`, isNew: true, want: `{"ipv4":{"pool":"vxlan"}}`},
		"calico-ipam":                            {config: `{"ipam":{"type":"calico-ipam"}}`, isNew: true, want: `{"ipam":{"type":"calico-ipam"}}`},
		"host-local":                             {config: `{"ipam":{"type":"host-local"}}`, isNew: true, want: `{"ipam":{"type":"host-local"},"overlay":{"enabled":false}}`},
		"no IPAM":                                {config: `{"ipam":7}`, isNew: true, want: `{"ipam":7,"overlay":{"enabled":false}}`},
		"an overlay left out beside calico-ipam": {old: `{"overlay":{"enabled":false}}`, config: `{"ipam":{"type":"calico-ipam"}}`, want: `{"ipam":{"type":"calico-ipam"},"overlay":{"enabled":false}}`},
		"two families":                           {config: `{}`, isNew: true, families: []string{"IPv4", "IPv6"}, want: `{}`},
		"no object":                              {config: `[]`, isNew: true, want: `[]`},
		"an old one without":                     {old: `{}`, config: `{}`, want: `{}`},
		"an overlay left out":                    {old: `{"overlay":{"enabled":true,"createPodRoutes":true}}`, config: `{}`, want: `{"overlay":{"enabled":true,"createPodRoutes":true}}`},
		"an overlay left out beside a backend":   {old: `{"overlay":{"enabled":true}}`, config: `{"backend":"bird"}`, want: `{"backend":"bird","overlay":{"enabled":true}}`},
		"a misspelt overlay left out":            {old: `{"overlay":{"enabld":true}}`, config: `{}`, want: `{}`},
		"an overlay of a wrong type left out":    {old: `{"overlay":{"enabled":"yes"}}`, config: `{}`, want: `{}`},
		"one with a misspelt field left out":     {old: `{"overlay":{"enabled":true,"routes":7}}`, config: `{}`, want: `{"overlay":{"enabled":true}}`},
		"an overlay that was none left out":      {old: `{"overlay":true}`, config: `{}`, want: `{}`},
		"an old one of nothing":                  {old: `7`, config: `{}`, want: `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			shoot := shootWith(test.config, test.families...)
			var old *corev1beta1.Shoot
			if !test.isNew {
				old = shootWith(test.old)
			}
			plugged := calico.New()
			for range 2 {
				g.Expect(plugged.DefaultShoot(old, shoot, inLandscape())).To(BeEmpty())
				g.Expect(string(shoot.Spec.Networking.ProviderConfig.Raw)).To(MatchJSON(test.want))
			}
			untouched, standalone := shootWith(test.config), inLandscape()
			plugged.DefaultShoot(old, untouched, &plugin.Input{})
			g.Expect(untouched).To(Equal(shootWith(test.config)), "without routes")
			standalone.PodAccess = &plugin.PodAccess{}
			plugged.DefaultShoot(old, untouched, standalone)
			g.Expect(untouched).To(Equal(shootWith(test.config)), "without Gardener's controllers")
		})
	}
}

// What the infrastructure's extension wants beside it comes and goes with the overlay.
func TestWithoutOverlayShootsStateWhatTheInfrastructureWants(t *testing.T) {
	const (
		off, on = `{"overlay":{"enabled":false}}`, `{"overlay":{"enabled":true}}`
		all     = `{"overlay":{"createPodRoutes":true,"enabled":false},"snatToUpstreamDNS":{"enabled":false}}`
		none    = `{"overlay":{"createPodRoutes":false,"enabled":false},"snatToUpstreamDNS":{"enabled":true}}`
	)
	for name, test := range map[string]struct{ old, config, want string }{
		"a new one":                            {"", `{}`, all},
		"a new one that says so":               {"", off, all},
		"a new one that wants something else":  {"", none, none},
		"a new one with an overlay":            {"", on, on},
		"the overlay goes":                     {on, off, all},
		"the overlay is left out":              {all, `{}`, all},
		"what belongs to it is left out":       {all, off, all},
		"what the user wanted is left out":     {none, off, none},
		"what was not there does not come":     {off, off, off},
		"the overlay comes":                    {all, on, on},
		"the overlay says nothing":             {"", `{"overlay":{}}`, `{"overlay":{}}`},
		"the overlay is no object":             {"", `{"overlay":[false]}`, `{"overlay":[false]}`},
		"routes, of which the former had none": {on, `{"overlay":{"enabled":false,"createPodRoutes":false}}`, `{"overlay":{"enabled":false,"createPodRoutes":false},"snatToUpstreamDNS":{"enabled":false}}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := inLandscape()
			in.Infrastructure.CreatePodRoutes, in.Infrastructure.NoUpstreamDNSSNAT = true, true
			var old *corev1beta1.Shoot
			if test.old != "" {
				old = shootWith(test.old)
			}
			shoot := shootWith(test.config)
			for range 2 {
				calico.New().DefaultShoot(old, shoot, in)
				g.Expect(string(shoot.Spec.Networking.ProviderConfig.Raw)).To(MatchJSON(test.want))
			}
		})
	}
}
