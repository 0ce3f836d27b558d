// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
)

// Whatever is in force can be asked where it comes from.
func TestEachValueHasAnOrigin(t *testing.T) {
	for name, test := range map[string]struct {
		config, cloud string
		wants         map[string]string
	}{
		"nothing written":         {"", "", map[string]string{"mode": "default", "mtu": "default"}},
		"written":                 {`{"mode":"bridged"}`, "", map[string]string{"mode": "user", "mtu": "default"}},
		"written as the default":  {`{"mode":"routed"}`, "", map[string]string{"mode": "user", "mtu": "default"}},
		"from the infrastructure": {"", "infra", map[string]string{"mode": "infrastructure: infra has no IP-in-IP", "mtu": "default"}},
		"by a rule": {`{"mtu":"9000","tunnel":{"enabled":true}}`, "", map[string]string{
			"mode": "default", "mtu": "rule: a tunnel needs room", "tunnel.enabled": "user",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			result := build(t, test.config, func(s *spec) { s.CloudProvider = test.cloud })
			g.Expect(result.Errors).To(BeEmpty())
			got := map[string]string{}
			for path, origin := range result.Origins {
				got[path] = origin.String()
			}
			g.Expect(got).To(Equal(test.wants))
		})
	}
}

// Gardener's webhooks may write into a Network on its way to the seed; the user
// is who wrote the Shoot.
func TestOriginsGoByTheShoot(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, noopPlugin{})
	shoot := &corev1beta1.Shoot{Spec: corev1beta1.ShootSpec{Networking: &corev1beta1.Networking{
		ProviderConfig: &runtime.RawExtension{Raw: []byte(`{"mtu":"1300"}`)},
	}}}
	result := p.Build(p.NewRequest(network(`{"mtu":"1300","mode":"bridged"}`), shoot, plugin.Environment{}))
	g.Expect(result.Origins["mtu"].String()).To(Equal("user"))
	g.Expect(result.Origins["mode"].String()).To(Equal("infrastructure: set in the Network on its way to the seed"))
}

func TestWarningsSayWhatIsNotInForce(t *testing.T) {
	g := NewWithT(t)
	result := build(t, `{"mtu":"9000","tunnel":{"enabled":true}}`)
	g.Expect(result.Warnings).To(HaveLen(1))
	g.Expect(result.Warnings[0].String()).To(Equal("spec.providerConfig.mtu: 9000 is not in force, 1200 is: a tunnel needs room"))
}

func TestUsersAreNotWarnedAboutWhatAWebhookWrote(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, noopPlugin{})
	shoot := &corev1beta1.Shoot{Spec: corev1beta1.ShootSpec{Networking: &corev1beta1.Networking{
		ProviderConfig: &runtime.RawExtension{Raw: []byte(`{"tunnel":{"enabled":true}}`)},
	}}}
	result := p.Build(p.NewRequest(network(`{"tunnel":{"enabled":true},"mtu":"9000"}`), shoot, plugin.Environment{}))
	g.Expect(result.Warnings).To(BeEmpty())
}
