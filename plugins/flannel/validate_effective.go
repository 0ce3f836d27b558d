// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/flannel/v1alpha1"
)

// leastIPv6MTU is the smallest MTU that a link with IPv6 may have.
const leastIPv6MTU = 1280

// ValidateEffective checks what is in force.
func (definition) ValidateEffective(effective, _ *v1alpha1.NetworkConfig, in *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	validateKubeProxy(&found, in)
	validateRanges(&found, effective, in)
	validateMTU(&found, effective, path)
	validateLimits(&found, effective.Resources, path.Child("resources", "limits"))
	warnOfRouting(&found, effective, in, path)
	return found
}

// validateKubeProxy makes sure that kube-proxy implements Services. The path is the
// Shoot's, wherever the config was written.
func validateKubeProxy(found *plugin.Findings, in *plugin.Input) {
	if !in.KubeProxy.Enabled {
		found.Error(field.Forbidden(field.NewPath("spec", "kubernetes", "kubeProxy", "enabled"),
			"without kube-proxy nothing implements Services, since flannel does not; switch it on"))
	}
}

// validateRanges makes sure that flannel knows the pods' ranges, without which it does not
// start. The second range is in the Shoot's status, and unknown until the infrastructure is
// ready.
func validateRanges(found *plugin.Findings, effective *v1alpha1.NetworkConfig, in *plugin.Input) {
	if in.Planned {
		return
	}
	for _, family := range []v1alpha1.IPFamily{v1alpha1.IPv4, v1alpha1.IPv6} {
		if hasFamily(effective, family) && podRange(in, ofFamily[family]) == "" {
			found.Error(field.Required(field.NewPath("status", "networking", "pods"), fmt.Sprintf(
				"the Shoot's status does not tell the pods' %s range yet, which flannel does not start without; wait for the infrastructure", family)))
		}
	}
}

func validateMTU(found *plugin.Findings, effective *v1alpha1.NetworkConfig, path *field.Path) {
	if mtu := podMTU(effective); mtu != 0 && mtu < leastIPv6MTU && hasFamily(effective, v1alpha1.IPv6) {
		found.ErrorBy(plugin.Extent{Rule: "IPv6", By: int64(leastIPv6MTU - mtu)}, field.Invalid(path.Child("mtu"), *effective.MTU, fmt.Sprintf(
			"leaves pods %d, and IPv6 needs %d; write %d or more, or leave it out", mtu, leastIPv6MTU, leastIPv6MTU+*effective.MTU-mtu)))
	}
}

func validateLimits(found *plugin.Findings, resources *v1alpha1.Resources, path *field.Path) {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		limit, has := resources.Limits[name]
		request := resources.Requests[name]
		if has && limit.Cmp(request) < 0 {
			missing := request.DeepCopy()
			missing.Sub(limit)
			found.ErrorBy(plugin.Extent{Rule: "request", By: missing.MilliValue()}, field.Invalid(path.Child(string(name)), limit.String(),
				fmt.Sprintf("must not be less than what is requested; write %s or more, or leave it out", request.String())))
		}
	}
}

// warnOfRouting warns of routes that may not lead to pods, or lead to other clusters' pods.
func warnOfRouting(found *plugin.Findings, effective *v1alpha1.NetworkConfig, in *plugin.Input, path *field.Path) {
	backend := path.Child("backend", "type")
	if encapsulates(effective) {
		backend = path.Child("backend", "directRouting")
	} else {
		found.Warn(backend, "host-gw needs all nodes in one layer 2 segment, or routes to each node's pods that the infrastructure makes for any network type; without either, pods on different nodes do not reach each other. vxlan needs neither, also with directRouting: true")
	}
	if seenOutside(effective) && !in.Infrastructure.OwnNetwork {
		found.Warn(backend, "the network between the nodes sees pods' addresses, so if other clusters have nodes in it, their pod ranges must not overlap with this one's; give each a range of its own")
	}
}
