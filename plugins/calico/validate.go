// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// Validate checks what the user wrote.
func (definition) Validate(written *v1alpha1.NetworkConfig, in *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	plugin.OneOf(&found, path.Child("backend"), written.Backend, v1alpha1.Bird, v1alpha1.None, v1alpha1.VXLANBackend)
	validateIPAM(&found, written.IPAM, path.Child("ipam"))
	validateFamilies(&found, written, in, path)
	if overlay := written.Overlay; overlay != nil && overlay.Enabled == nil && in.Planned && slices.Contains(in.Infrastructure.ReadsOverlay, Type) {
		found.Error(field.Required(path.Child("overlay", "enabled"), fmt.Sprintf(
			"write false, which it means without a value; Gardener's extension for %s fails on such an overlay", in.Infrastructure.Type)))
	}
	if written.VethMTU != nil {
		validateMTU(&found, path.Child("vethMTU"), *written.VethMTU)
	}
	validateAutoScaling(&found, written.AutoScaling, path.Child("autoScaling"))
	plugin.OneOf(&found, path.Child("serviceLoopPrevention"), written.ServiceLoopPrevention,
		v1alpha1.ServiceLoopDisabled, v1alpha1.ServiceLoopDrop, v1alpha1.ServiceLoopReject)
	plugin.OneOf(&found, path.Child("ipip"), written.IPIP, poolModes...)
	if method := written.IPAutodetectionMethod; method != nil {
		validateAutoDetection(&found, path.Child("ipAutodetectionMethod"), *method)
	}
	return found
}

func validateIPAM(found *plugin.Findings, ipam *v1alpha1.IPAM, path *field.Path) {
	if ipam == nil {
		return
	}
	if ipam.Type != "" {
		plugin.OneOf(found, path.Child("type"), &ipam.Type, v1alpha1.HostLocal, v1alpha1.CalicoIPAM)
	}
	if ipam.CIDR == nil || strings.EqualFold(*ipam.CIDR, v1alpha1.UsePodCIDR) {
		return
	}
	if !isCIDR(*ipam.CIDR) {
		found.Error(field.Invalid(path.Child("cidr"), *ipam.CIDR,
			"is neither usePodCIDR nor an IP range; write usePodCIDR, which is each node's own pod range, or leave it out"))
	}
}

var poolModes = []v1alpha1.PoolMode{v1alpha1.Always, v1alpha1.Never, v1alpha1.CrossSubnet, v1alpha1.Off}

func validatePool(found *plugin.Findings, path *field.Path, pool *v1alpha1.Pool, mode *v1alpha1.PoolMode, method *string, pools ...v1alpha1.Pool) {
	plugin.OneOf(found, path.Child("pool"), pool, pools...)
	plugin.OneOf(found, path.Child("mode"), mode, poolModes...)
	if pool != nil && *pool == v1alpha1.PoolVXLAN && mode != nil && slices.Contains([]v1alpha1.PoolMode{v1alpha1.CrossSubnet, v1alpha1.Off}, *mode) {
		found.Error(field.Invalid(path.Child("mode"), *mode, "does not go together with pool: vxlan; write Always or Never, or leave it out"))
	}
	if method != nil && *method != "" {
		validateAutoDetection(found, path.Child("autoDetectionMethod"), *method)
	}
}

func validateMTU(found *plugin.Findings, path *field.Path, mtu string) {
	if number, err := strconv.Atoi(mtu); err != nil || number < 0 {
		found.Error(field.Invalid(path, mtu, `must be a decimal number that is not negative; write it in quotes such as "1440", or "0" to let Calico find out`))
	}
}

func validateAutoScaling(found *plugin.Findings, scaling *v1alpha1.AutoScaling, path *field.Path) {
	if scaling == nil {
		return
	}
	plugin.OneOf(found, path.Child("mode"), &scaling.Mode, v1alpha1.ClusterProportional, v1alpha1.VPA, v1alpha1.Static)
	if resources := scaling.Resources; resources != nil {
		system.ValidateResources(found, path.Child("resources", "node"), resources.Node)
		system.ValidateResources(found, path.Child("resources", "typha"), resources.Typha)
	}
}
