// SPDX-License-Identifier: Apache-2.0

package cilium

// What depends on the version of Cilium, which is 1.19.7. Agents and operator silently
// ignore what they do not know. If you raise the tags in images.yaml, go through all of
// this, and through the kinds that agents and operator have rights to:
// watchedKinds and agentRules in rbac.go, operatorKinds, operatorRules and
// operatorCiliumRules in rbac_operator.go.

const (
	// egressGatewayKey is what 1.19 made of enable-ipv4-egress-gateway.
	egressGatewayKey = "enable-egress-gateway"

	// 1.20 knows these no more, but enable-encryption-strict-mode-egress,
	// encryption-strict-egress-cidr and
	// encryption-strict-egress-allow-remote-node-identities, as 1.19 does, too.
	strictModeKey            = "enable-encryption-strict-mode"
	strictModeCIDRKey        = "encryption-strict-mode-cidr"
	strictModeRemoteNodesKey = "encryption-strict-mode-allow-remote-node-identities"
)

// gone are settings that 1.20 knows no more.
var gone = settings{
	"arping-refresh-period":           "30s",
	"enable-api-rate-limit":           "false",
	"enable-runtime-device-detection": "true",
	"enable-session-affinity":         "true",
	"enable-svc-source-range-check":   "true",
	"hubble-tls-auto-enabled":         "true",
	"tofqdns-enable-poller":           "false",
}

// deprecated are settings of mutual authentication, which 1.20 advises against.
var deprecated = settings{
	"mesh-auth-enabled":                       "false",
	"mesh-auth-gc-interval":                   "5m0s",
	"mesh-auth-queue-size":                    "1024",
	"mesh-auth-rotated-identities-queue-size": "1024",
}
