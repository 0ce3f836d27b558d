// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"bytes"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// MutateNetwork implements plugin.NetworkMutator. On infrastructure without IP-in-IP it sets
// backend none, whatever the user wrote, and keeps all other fields, as Gardener's extension for
// Azure does. A Network without a config gets one with an empty kind and no apiVersion.
func (definition) MutateNetwork(infrastructure *plugin.Infrastructure, config *runtime.RawExtension) (*runtime.RawExtension, error) {
	if !infrastructure.NoIPIP {
		return config, nil
	}
	fields := map[string]json.RawMessage{}
	switch {
	case config == nil:
		fields["kind"] = json.RawMessage(`""`)
	case len(config.Raw) > 0:
		if err := json.Unmarshal(config.Raw, &fields); err != nil {
			return nil, fmt.Errorf("spec.providerConfig must be an object: %w", err)
		}
	}
	none, err := json.Marshal(v1alpha1.None)
	if err != nil || bytes.Equal(fields["backend"], none) {
		return config, err
	}
	if fields == nil { // the config is null
		fields = map[string]json.RawMessage{}
	}
	fields["backend"] = none
	raw, err := json.Marshal(fields)
	return &runtime.RawExtension{Raw: raw}, err
}
