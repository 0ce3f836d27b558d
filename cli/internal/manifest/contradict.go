// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/fielderror"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Contradictions returns where a Network and its Shoot have different values, and which
// value counts. In a cluster the Network is derived from the Shoot, so one of them is
// probably old, or belongs to another cluster. A different providerConfig is no
// contradiction, since a webhook may have changed it.
func (s *Subject) Contradictions() []plugin.Warning {
	if s.Shoot == nil || s.Author != pipeline.AuthorNetwork {
		return nil
	}
	network, networking := &s.Network.Spec, ptr.Deref(s.Shoot.Spec.Networking, corev1beta1.Networking{})
	var families []string
	for _, family := range network.IPFamilies {
		families = append(families, string(family))
	}
	var found []plugin.Warning
	for _, each := range []struct{ path, network, shoot, counts string }{
		{"spec.type", network.Type, ptr.Deref(networking.Type, ""), "Network"},
		{"spec.podCIDR", network.EffectivePodCIDR(), ptr.Deref(networking.Pods, ""), "Network"},
		{"spec.serviceCIDR", network.ServiceCIDR, ptr.Deref(networking.Services, ""), "Network"},
		{"spec.ipFamilies", strings.Join(families, ", "), strings.Join(networking.IPFamilies, ", "), "Network"},
		{"spec.cloudProvider", network.CloudProvider, s.Shoot.Spec.Provider.Type, "Shoot"},
	} {
		if each.network != "" && each.shoot != "" && each.network != each.shoot {
			found = append(found, plugin.Warning{Field: each.path, Message: fmt.Sprintf("is %s, but the Shoot has %s; the %s counts",
				fielderror.Abbreviate(each.network), fielderror.Abbreviate(each.shoot), each.counts)})
		}
	}
	if len(s.Shoot.Spec.Provider.Workers) == 0 {
		found = append(found, plugin.Warning{
			Field: "shoot.spec.provider.workers", Message: "is empty, and a Shoot without workers has no pod network",
		})
	}
	return found
}
