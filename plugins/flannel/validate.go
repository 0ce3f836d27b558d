// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/flannel/v1alpha1"
)

// The largest numbers that there are.
const (
	mostMTU, leastMTU = 65535, 576
	mostPort          = 65535
	mostVNI           = 1<<24 - 1
)

// Validate checks what the user wrote.
func (definition) Validate(written *v1alpha1.NetworkConfig, in *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	if written.Backend != nil {
		validateBackend(&found, written.Backend, path.Child("backend"))
	}
	inRange(&found, path.Child("mtu"), written.MTU, leastMTU, mostMTU)
	validateFamilies(&found, written.IPFamilies, in, path.Child("ipFamilies"))
	if written.Resources != nil {
		validateResources(&found, written.Resources, path.Child("resources"))
	}
	return found
}

func validateBackend(found *plugin.Findings, backend *v1alpha1.Backend, path *field.Path) {
	kind := v1alpha1.VXLAN
	if backend.Type != nil {
		kind = *backend.Type
	}
	switch kind {
	case v1alpha1.VXLAN:
		inRange(found, path.Child("port"), backend.Port, 1, mostPort)
		inRange(found, path.Child("vni"), backend.VNI, 1, mostVNI)
	case v1alpha1.HostGateway:
		refuse := func(name string, isThere bool) {
			if isThere {
				found.Error(field.Forbidden(path.Child(name), "host-gw does not encapsulate packets; leave it out, or write type: vxlan"))
			}
		}
		refuse("port", backend.Port != nil)
		refuse("vni", backend.VNI != nil)
		refuse("directRouting", backend.DirectRouting != nil)
	default:
		plugin.OneOf(found, path.Child("type"), &kind, v1alpha1.VXLAN, v1alpha1.HostGateway)
	}
}

func inRange(found *plugin.Findings, path *field.Path, value *int32, least, most int32) {
	if value != nil && (*value < least || *value > most) {
		found.Error(field.Invalid(path, *value, fmt.Sprintf("must be from %d to %d; write such a number, or leave it out", least, most)))
	}
}

// validateFamilies refuses other families than the network's. A network that migrates to
// dual-stack may already have both.
func validateFamilies(found *plugin.Findings, written []v1alpha1.IPFamily, in *plugin.Input, path *field.Path) {
	if len(written) == 0 {
		return
	}
	for i, family := range written {
		switch {
		case family != v1alpha1.IPv4 && family != v1alpha1.IPv6:
			plugin.OneOf(found, path.Index(i), &family, v1alpha1.IPv4, v1alpha1.IPv6)
		case slices.Index(written, family) < i:
			found.Error(field.Duplicate(path.Index(i), family))
		case !in.WantsIPFamily(extensionsv1alpha1.IPFamily(family)) && len(in.IPFamilies) > 0:
			found.Error(field.Invalid(path.Index(i), family, "the network does not have it; leave ipFamilies out, or list the family in the Shoot's spec.networking.ipFamilies"))
		}
	}
	for _, family := range familiesOf(in.IPFamilies) {
		if !slices.Contains(written, family) {
			found.Error(field.Invalid(path, written, fmt.Sprintf("the network also has %s; leave ipFamilies out, or list it", family)))
		}
	}
}

func validateResources(found *plugin.Findings, resources *v1alpha1.Resources, path *field.Path) {
	system.ValidateResources(found, path.Child("requests"), resources.Requests)
	system.ValidateResources(found, path.Child("limits"), resources.Limits)
}
