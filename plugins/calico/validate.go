// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
			"must be usePodCIDR, for the node's own pod range, or a range such as 100.96.0.0/24"))
	}
}

var poolModes = []v1alpha1.PoolMode{v1alpha1.Always, v1alpha1.Never, v1alpha1.CrossSubnet, v1alpha1.Off}

func validatePool(found *plugin.Findings, path *field.Path, pool *v1alpha1.Pool, mode *v1alpha1.PoolMode, method *string, pools ...v1alpha1.Pool) {
	plugin.OneOf(found, path.Child("pool"), pool, pools...)
	plugin.OneOf(found, path.Child("mode"), mode, poolModes...)
	if pool != nil && *pool == v1alpha1.PoolVXLAN && mode != nil && slices.Contains(poolModes, *mode) {
		withVXLAN := []v1alpha1.PoolMode{v1alpha1.Always, v1alpha1.Never}
		if !slices.Contains(withVXLAN, *mode) {
			found.Error(field.Invalid(path.Child("mode"), *mode, fmt.Sprintf("must be one of %v together with pool: vxlan", withVXLAN)))
		}
	}
	if method != nil && *method != "" {
		validateAutoDetection(found, path.Child("autoDetectionMethod"), *method)
	}
}

func validateMTU(found *plugin.Findings, path *field.Path, mtu string) {
	if number, err := strconv.Atoi(mtu); err != nil || number < 0 {
		found.Error(field.Invalid(path, mtu, `must be a decimal number that is not negative, in quotes, such as "1440"; "0" lets Calico find out`))
	}
}

func validateAutoScaling(found *plugin.Findings, scaling *v1alpha1.AutoScaling, path *field.Path) {
	if scaling == nil {
		return
	}
	plugin.OneOf(found, path.Child("mode"), &scaling.Mode, v1alpha1.ClusterProportional, v1alpha1.VPA, v1alpha1.Static)
	if resources := scaling.Resources; resources != nil {
		validateResources(found, path.Child("resources", "node"), resources.Node)
		validateResources(found, path.Child("resources", "typha"), resources.Typha)
	}
}

// validateResources returns two errors for a negative quantity, as Gardener's extension does.
func validateResources(found *plugin.Findings, path *field.Path, list corev1.ResourceList) {
	system.WarnOfSmallResources(found, path, list)
	for _, name := range slices.Sorted(maps.Keys(list)) {
		quantity, at := list[name], path.Child(string(name))
		switch {
		case name != corev1.ResourceCPU && name != corev1.ResourceMemory:
			found.Error(field.Invalid(at, string(name), "must be cpu or memory"))
		case quantity.IsZero():
			found.Error(field.Invalid(at, quantity.String(), "must be specified and not zero"))
		case quantity.Sign() < 0:
			found.Error(field.Invalid(at, quantity.String(), "must be positive"))
			found.Error(field.Invalid(at, quantity.String(), "must be greater than or equal to 0"))
		}
	}
}
