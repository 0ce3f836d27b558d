// SPDX-License-Identifier: Apache-2.0

package pairwise

var detection = []string{`"first-found"`, `"interface=eth.*"`, `"can-reach=192.0.2.1"`}

// calicoFields are options of Calico's NetworkConfig, with values that make a difference. Fields
// that are missing here get values from their types (otherFields).
var calicoFields = []option{
	setting("backend", `"bird"`, `"none"`, `"vxlan"`),
	setting("ipam.type", `"host-local"`, `"calico-ipam"`),
	setting("ipam.cidr", `"usePodCIDR"`, `"100.96.0.0/24"`),
	setting("ipv4.pool", `"ipip"`, `"vxlan"`),
	setting("ipv4.mode", `"Always"`, `"Never"`, `"CrossSubnet"`, `"Off"`),
	setting("ipv4.autoDetectionMethod", detection...),
	setting("ipv6.pool", `"ipip"`, `"vxlan"`),
	setting("ipv6.mode", `"Always"`, `"Never"`, `"CrossSubnet"`, `"Off"`),
	setting("ipv6.autoDetectionMethod", detection...),
	setting("ipv6.sourceNATEnabled", "true", "false"),
	setting("typha.enabled", "true", "false"),
	setting("vethMTU", `"1440"`),
	setting("ebpfDataplane.enabled", "true", "false"),
	setting("overlay", `{"enabled":true}`, `{"enabled":false}`, `{"enabled":false,"createPodRoutes":true}`),
	setting("snatToUpstreamDNS.enabled", "true", "false"),
	setting("autoScaling.mode", `"cluster-proportional"`, `"vpa"`, `"static"`),
	setting("autoScaling.resources.node", `{"cpu":"300m"}`, `{"cpu":"300m","memory":"200Mi"}`),
	setting("autoScaling.resources.typha", `{"memory":"200Mi"}`),
	setting("vxlan.enabled", "true", "false"),
	setting("wireguardEncryption", "true", "false"),
	setting("birdExporter.enabled", "true", "false"),
	setting("multus.enabled", "true", "false"),
	setting("multus.installCNIPlugins", "true", "false"),
	setting("serviceLoopPrevention", `"Disabled"`, `"Drop"`, `"Reject"`),
	setting("ipip", `"Always"`, `"Never"`, `"CrossSubnet"`, `"Off"`),
	setting("ipAutodetectionMethod", detection...),
	setting("apiVersion", `"calico.networking.extensions.gardener.cloud/v1alpha1"`, `"calico.extensions.gardener.cloud/v1alpha1"`),
}
