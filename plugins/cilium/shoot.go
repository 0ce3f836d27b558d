// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"k8s.io/utils/ptr"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
)

// DefaultShoot switches kube-proxy off in a new Shoot, even if the user has switched it on
// (Gardener's contract). The user may switch it on in the cluster that exists. Standalone it
// states nothing: whether kube-proxy runs is decided elsewhere.
func (definition) DefaultShoot(old, shoot *corev1beta1.Shoot, in *plugin.Input) []plugin.Warning {
	if old != nil || in.Standalone() {
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
