// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// encryptionFields are about what of the traffic between nodes is encrypted.
var encryptionFields = []configField{
	{
		path:       "encryption.enabled",
		setDefault: defaultEncryption,
		changes:    encryptionRules,
	},
	{
		path:     "encryption.mode",
		validate: validateEncryption,
		configure: func(c ciliumConfig, s settings) {
			s.setIf(encryptsWithWireGuard(c.config), "enable-wireguard", yes)
			s.setIf(encryptsWithWireGuard(c.config), "wireguard-persistent-keepalive", "0s")
		},
		changes: encryptionRules,
	},
	{
		path:      "encryption.nodeToNodeEnabled",
		configure: func(c ciliumConfig, s settings) { s.setIf(c.config.Encryption.NodeToNodeEnabled, "encrypt-node", yes) },
		changes:   []rule{{Class: plugin.Rolling, Reason: restarts + "; two nodes encrypt what they send to each other as soon as both do"}},
	},
	{
		path: "encryption.strictMode",
		configure: func(c ciliumConfig, s settings) {
			if isStrict(c.config) {
				s[strictModeKey], s[strictModeCIDRKey] = yes, c.in.PodCIDR
				s[strictModeRemoteNodesKey] = boolean(letsRemoteNodesInTheClear(c.config, c.in))
			}
		},
		changes: encryptionRules,
	},
}

// validateEncryption accepts modes that merely encrypt nothing, since Gardener's extension
// does; Trellis warns of them.
func validateEncryption(written *v1alpha1.NetworkConfig, found *plugin.Findings, path *field.Path) {
	encryption := written.Encryption
	switch {
	case encryption == nil || !encryption.Enabled:
	case encryption.Mode == v1alpha1.IPsec:
		found.Error(field.Invalid(path, encryption.Mode, "is not supported, since Trellis does not bring the keys; write wireguard"))
	case encryption.StrictMode && encryption.Mode != v1alpha1.WireGuard:
		found.Error(field.Invalid(path, encryption.Mode, "must be wireguard together with strictMode: true; write wireguard, or leave strictMode out"))
	}
}

func defaultEncryption(d *defaulting) {
	encryption := plugin.OrDefault(&d.config.Encryption, v1alpha1.Encryption{})
	if encryption.Enabled {
		return
	}
	*encryption = v1alpha1.Encryption{}
	d.origins.Rule("encryption", "encryption.enabled is false")
}

var encryptionRules = []rule{
	{Class: plugin.Safe, When: "if nothing is encrypted", If: func(c change) bool {
		return !isEncrypted(c.Before.Config) && !isEncrypted(c.After.Config)
	}, Reason: "nothing is encrypted, before or after"},
	{Class: plugin.Rolling, When: "if the same is encrypted as before", If: func(c change) bool {
		before, after := c.Before.Config, c.After.Config
		return isEncrypted(before) == isEncrypted(after) && isStrict(before) == isStrict(after)
	}, Reason: restarts + "; the same traffic is encrypted as before"},
	{Class: plugin.Disruptive, When: "into strict mode", If: func(c change) bool { return isStrict(c.After.Config) },
		Reason: "a changed node drops packets for unchanged nodes, which it cannot encrypt"},
	{Class: plugin.Disruptive, When: "from strict mode to none", If: func(c change) bool {
		return isStrict(c.Before.Config) && !isEncrypted(c.After.Config)
	}, Reason: "an unchanged node drops packets for changed nodes, which it cannot encrypt"},
	{Class: plugin.Rolling, When: "out of strict mode", If: func(c change) bool { return isStrict(c.Before.Config) },
		Reason: restarts + "; the same traffic is encrypted as before, and none is dropped any more where it cannot be"},
	{Class: plugin.Rolling, Reason: restarts + "; two nodes encrypt once both have changed, and communicate unencrypted until then"},
}
