// SPDX-License-Identifier: Apache-2.0

package cilium

// What depends on the version of Cilium, which is 1.19.7. Agents and operator silently
// ignore what they do not know. If you raise the tags in images.yaml, go through all of
// this, through what manifests/cilium-config.yaml states of 1.20, and through the kinds that
// agents and operator have rights to: manifests/agent-role.yaml, manifests/operator.yaml.

const (
	// egressGatewayKey is what 1.19 made of enable-ipv4-egress-gateway.
	egressGatewayKey = "enable-egress-gateway"

	// 1.20 replaces these with enable-encryption-strict-mode-egress,
	// encryption-strict-egress-cidr and
	// encryption-strict-egress-allow-remote-node-identities, which 1.19 also knows.
	strictModeKey            = "enable-encryption-strict-mode"
	strictModeCIDRKey        = "encryption-strict-mode-cidr"
	strictModeRemoteNodesKey = "encryption-strict-mode-allow-remote-node-identities"
)
