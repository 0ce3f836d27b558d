// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"testing"

	. "github.com/onsi/gomega"

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
