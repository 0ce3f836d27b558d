// SPDX-License-Identifier: Apache-2.0

package pairwise

// flannelFields are options of flannel's NetworkConfig, with values that make a difference. Fields
// that are missing here get values from their types (otherFields).
var flannelFields = []option{
	setting("backend.type", `"vxlan"`, `"host-gw"`),
	setting("backend.port", "4789"),
	setting("backend.vni", "7"),
	setting("backend.directRouting", "true", "false"),
	setting("mtu", "1300", "9000"),
	setting("ipFamilies", `["IPv4"]`, `["IPv6"]`, `["IPv4","IPv6"]`),
	setting("nftables", "true", "false"),
	setting("resources.requests", `{"cpu":"300m"}`, `{"cpu":"300m","memory":"200Mi"}`),
	setting("resources.limits", `{"cpu":"1"}`, `{"memory":"100Mi"}`),
	setting("apiVersion", `"flannel.networking.extensions.gardener.cloud/v1alpha1"`),
}
