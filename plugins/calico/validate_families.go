// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// validateFamilies checks the values of each IP family, and refuses those of a family that the
// network does not have.
func validateFamilies(found *plugin.Findings, written *v1alpha1.NetworkConfig, in *plugin.Input, path *field.Path) {
	if ipv4 := written.IPv4; ipv4 != nil {
		validatePool(found, path.Child("ipv4"), ipv4.Pool, ipv4.Mode, ipv4.AutoDetectionMethod, v1alpha1.PoolIPIP, v1alpha1.PoolVXLAN)
	}
	if ipv6 := written.IPv6; ipv6 != nil {
		validatePool(found, path.Child("ipv6"), (*v1alpha1.Pool)(ipv6.Pool), ipv6.Mode, ipv6.AutoDetectionMethod, v1alpha1.PoolVXLAN)
	}
	if !deploysIPv4(in) {
		const absent = "the network has no IPv4; leave it out"
		if written.IPv4 != nil {
			found.Error(field.Forbidden(path.Child("ipv4"), absent))
		}
		if written.IPIP != nil {
			found.Error(field.Forbidden(path.Child("ipip"), absent))
		}
	}
	if written.IPv6 != nil && !deploysIPv6(in) {
		absent := "the network has no IPv6; leave it out"
		if wantsIPv6(in) {
			absent = "the network has no IPv6 yet; leave it out until all nodes are ready for two families"
		}
		found.Error(field.Forbidden(path.Child("ipv6"), absent))
	}
	if ipam := written.IPAM; ipam != nil && ipam.Type == v1alpha1.CalicoIPAM && wantsIPv6(in) {
		found.Error(field.Invalid(path.Child("ipam", "type"), ipam.Type,
			"calico-ipam is for networks of IPv4 only; write host-local or leave it out"))
	}
}

// wantsIPv6 reports whether the network has IPv6 or is on the way to it.
func wantsIPv6(in *plugin.Input) bool { return in.WantsIPFamily(extensionsv1alpha1.IPv6) }
