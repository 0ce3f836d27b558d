// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// configField is what Trellis does with a field of NetworkConfig.
type configField struct {
	// path is the field's, in JSON spelling. An entry for a block is for all fields in it
	// that have none of their own.
	path string
	// validate finds what is wrong with what the user wrote; nil if any value is allowed.
	validate func(written *v1alpha1.NetworkConfig, found *plugin.Findings, path *field.Path)
	// setDefault puts the field into force, or the block that it is in: it sets what the user
	// left out, and what other fields or facts decide. nil if another entry does, or if the
	// field may be absent. It may rely on the entries before its own.
	setDefault func(*defaulting)
	// configure adds the field's settings to ConfigMap cilium-config; nil if it has none.
	configure func(ciliumConfig, settings)
	// changes are what a change means for a running network; the first rule that applies
	// decides.
	changes []rule
}

// configFields are all fields, and those first that others depend on. To add a field,
// declare it in v1alpha1, and add an entry to the list of its topic, in fields_*.go.
var configFields = slices.Concat(agentFields, routingFields, serviceFields, masqueradingFields, encryptionFields)

// withConfigFields adds their changes to a policy.
func withConfigFields(policy plugin.ChangePolicy[v1alpha1.NetworkConfig]) plugin.ChangePolicy[v1alpha1.NetworkConfig] {
	for _, each := range configFields {
		policy[each.path] = each.changes
	}
	return policy
}
