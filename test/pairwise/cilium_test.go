// SPDX-License-Identifier: Apache-2.0

package pairwise

// ciliumFields are options of Cilium's NetworkConfig, with values that make a difference. Fields
// that are missing here get values from their types (otherFields).
var ciliumFields = []option{
	setting("debug", "true", "false"),
	setting("kubeproxy", `{"k8sServiceHost":"192.0.2.1","k8sServicePort":443}`, `{"k8sServiceHost":"api.example.com"}`),
	setting("hubble.enabled", "true", "false"),
	setting("tunnel", `"vxlan"`, `"geneve"`, `"disabled"`),
	setting("store", `"kubernetes"`),
	setting("ipv4.enabled", "true", "false"),
	setting("ipv6.enabled", "true", "false"),
	setting("bpfSocketLBHostnsOnly.enabled", "true", "false"),
	setting("cni.exclusive", "true", "false"),
	setting("egressGateway.enabled", "true", "false"),
	setting("mtu", "1450"),
	setting("devices", `["eth0"]`, `["eth0","ens+"]`),
	setting("directRoutingDevice", `"eth0"`),
	setting("loadBalancingMode", `"snat"`, `"dsr"`, `"hybrid"`),
	setting("l2Announcements.enabled", "true", "false"),
	setting("l2Announcements.leaseDuration", `"60s"`),
	setting("l2Announcements.leaseRenewDeadline", `"10s"`),
	setting("l2Announcements.leaseRetryPeriod", `"1s"`),
	setting("ipv4NativeRoutingCIDREnabled", "true", "false"),
	setting("ipv6NativeRoutingCIDREnabled", "true", "false"),
	setting("overlay", `{"enabled":true}`, `{"enabled":false}`, `{"enabled":false,"createPodRoutes":true}`),
	setting("snatToUpstreamDNS.enabled", "true", "false"),
	setting("snatOutOfCluster.enabled", "true", "false"),
	setting("enableIpv4Masquerade", "true", "false"),
	setting("enableIpv6Masquerade", "true", "false"),
	setting("enableBPFMasquerade", "true", "false"),
	setting("bgpControlPlane.enabled", "true", "false"),
	setting("policyAuditMode", "true", "false"),
	setting("encryption.enabled", "true", "false"),
	setting("encryption.mode", `"wireguard"`, `"other"`),
	setting("encryption.nodeToNodeEnabled", "true", "false"),
	setting("encryption.strictMode", "true", "false"),
	setting("apiVersion", `"cilium.networking.extensions.gardener.cloud/v1alpha1"`),
}
