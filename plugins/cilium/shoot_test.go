// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium"
)

func TestNewShootsHaveNoKubeProxy(t *testing.T) {
	g := NewWithT(t)
	mode := corev1beta1.ProxyModeIPVS
	for _, enabled := range []*bool{nil, new(true), new(false)} {
		shoot := &corev1beta1.Shoot{}
		shoot.Spec.Kubernetes.KubeProxy = &corev1beta1.KubeProxy{Enabled: enabled, Mode: &mode}
		warnings := cilium.New().DefaultShoot(nil, shoot, &plugin.Input{})
		g.Expect(shoot.Spec.Kubernetes.KubeProxy).To(Equal(&corev1beta1.KubeProxy{Enabled: new(false), Mode: &mode}))
		if enabled != nil && *enabled {
			g.Expect(warnings).To(ConsistOf(HaveField("Field", "spec.kubernetes.kubeProxy.enabled")))
		} else {
			g.Expect(warnings).To(BeEmpty())
		}
	}
	shoot := &corev1beta1.Shoot{}
	cilium.New().DefaultShoot(nil, shoot, &plugin.Input{})
	g.Expect(shoot.Spec.Kubernetes.KubeProxy).To(Equal(&corev1beta1.KubeProxy{Enabled: new(false)}))
}

func TestShootsThatExistKeepKubeProxy(t *testing.T) {
	shoot := &corev1beta1.Shoot{}
	cilium.New().DefaultShoot(&corev1beta1.Shoot{}, shoot, &plugin.Input{})
	NewWithT(t).Expect(shoot).To(Equal(&corev1beta1.Shoot{}))
}

// kube-proxy runs on in a cluster that others have made, whatever a Shoot says.
func TestStandaloneShootsSayWhetherKubeProxyRuns(t *testing.T) {
	standalone := &plugin.Input{Environment: plugin.Environment{PodAccess: &plugin.PodAccess{}}}
	for _, proxy := range []*corev1beta1.KubeProxy{nil, {Enabled: new(true)}, {Enabled: new(false)}} {
		g := NewWithT(t)
		shoot := &corev1beta1.Shoot{}
		shoot.Spec.Kubernetes.KubeProxy = proxy.DeepCopy()
		g.Expect(cilium.New().DefaultShoot(nil, shoot, standalone)).To(BeEmpty())
		g.Expect(shoot.Spec.Kubernetes.KubeProxy).To(Equal(proxy))
	}
}

func TestWhereThereAreRoutesNewShootsStateThatThereIsNoOverlay(t *testing.T) {
	const off = `{"overlay":{"enabled":false}}`
	clouds := &plugin.Input{Facts: plugin.Facts{Infrastructure: plugin.Infrastructure{OverlayOff: true}}}
	routes := &plugin.Input{Facts: plugin.Facts{Infrastructure: plugin.Infrastructure{OverlayOff: true, CreatePodRoutes: true, NoUpstreamDNSSNAT: true}}}
	for name, test := range map[string]struct {
		in                *plugin.Input
		old, config, want string
	}{
		"an empty config":            {clouds, "", `{}`, off},
		"something else":             {clouds, "", `{"debug":true}`, `{"debug":true,"overlay":{"enabled":false}}`},
		"an overlay":                 {clouds, "", `{"overlay":{"enabled":true}}`, `{"overlay":{"enabled":true}}`},
		"a tunnel":                   {clouds, "", `{"tunnel":"geneve"}`, `{"tunnel":"geneve"}`},
		"native routing":             {clouds, "", `{"ipv4NativeRoutingCIDREnabled":true}`, `{"ipv4NativeRoutingCIDREnabled":true}`},
		"an egress gateway":          {clouds, "", `{"egressGateway":{"enabled":true}}`, `{"egressGateway":{"enabled":true}}`},
		"the overlay is left out":    {clouds, off, `{}`, off},
		"the old one had none":       {clouds, `{}`, `{}`, `{}`},
		"agents are to make routes":  {routes, "", `{}`, `{"overlay":{"createPodRoutes":true,"enabled":false}}`},
		"nothing is known of routes": {&plugin.Input{}, "", `{}`, `{}`},
		"standalone":                 {&plugin.Input{Facts: clouds.Facts, Environment: plugin.Environment{PodAccess: &plugin.PodAccess{}}}, "", `{}`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			with := func(config string) *corev1beta1.Shoot {
				shoot := &corev1beta1.Shoot{}
				shoot.Spec.Networking = &corev1beta1.Networking{ProviderConfig: &runtime.RawExtension{Raw: []byte(config)}}
				return shoot
			}
			var old *corev1beta1.Shoot
			if test.old != "" {
				old = with(test.old)
			}
			shoot := with(test.config)
			for range 2 {
				cilium.New().DefaultShoot(old, shoot, test.in)
				g.Expect(string(shoot.Spec.Networking.ProviderConfig.Raw)).To(MatchJSON(test.want))
			}
		})
	}
}
