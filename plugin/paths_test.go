// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

func TestAValueIsPutWhereItsPathLeads(t *testing.T) {
	type object = map[string]any
	for path, want := range map[string]object{
		"mtu":                {"mtu": 7, "overlay": object{"enabled": true}},
		"overlay.port":       {"overlay": object{"enabled": true, "port": 7}},
		"overlay.a.b.c":      {"overlay": object{"enabled": true, "a": object{"b": object{"c": 7}}}},
		"overlay":            {"overlay": 7},
		"overlay.enabled.by": {"overlay": object{"enabled": object{"by": 7}}},
	} {
		config := object{"overlay": object{"enabled": true}}
		plugin.Put(config, path, 7)
		NewWithT(t).Expect(config).To(Equal(want), path)
	}
}
