// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"slices"

	"k8s.io/utils/ptr"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
	"github.com/trellis-network/trellis/plugins/internal/overlay"
)

// DefaultShoot switches kube-proxy off in a new Shoot, even if the user has switched it on. The user
// may switch it on in the cluster that exists. It also states that there is no overlay, where the
// infrastructure turns overlays off, unless the config states how packets travel or has an
// egress gateway, which needs a tunnel. Both is Gardener's contract; standalone it states nothing,
// since whether kube-proxy runs, and whether something makes routes, is decided elsewhere.
func (definition) DefaultShoot(old, shoot *corev1beta1.Shoot, in *plugin.Input) []plugin.Warning {
	if in.Standalone() {
		return nil
	}
	overlay.Defaults{Version: v1alpha1.GroupVersion, Decided: func(config overlay.Config) bool {
		return slices.ContainsFunc([]string{"tunnel", "ipv4NativeRoutingCIDREnabled", "ipv6NativeRoutingCIDREnabled", "egressGateway"},
			func(name string) bool { return config[name] != nil })
	}}.State(old, shoot, &in.Infrastructure)
	if old != nil {
		return nil
	}
	if shoot.Spec.Kubernetes.KubeProxy == nil {
		shoot.Spec.Kubernetes.KubeProxy = &corev1beta1.KubeProxy{}
	}
	proxy := shoot.Spec.Kubernetes.KubeProxy
	wanted := ptr.Deref(proxy.Enabled, false)
	proxy.Enabled = new(false)
	if !wanted {
		return nil
	}
	return []plugin.Warning{{Field: string(plugin.FactKubeProxy),
		Message: "is set to false, since Cilium does what kube-proxy does; to have kube-proxy nevertheless, set it to true once the Shoot exists"}}
}
