// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/internal/explain"
	"github.com/trellis-network/trellis/plugin"
)

// Together with others it would bring another ipam.type, which is refused.
func TestChangesThatAreRefusedHaveNoOtherClass(t *testing.T) {
	for _, change := range explained(t, "calico.vxlan.enabled").Changes {
		for _, when := range change.When {
			NewWithT(t).Expect(when).NotTo(HavePrefix("together with"))
		}
	}
}

// What is told is so in the circumstances that are named.
func TestClassesThatTakeOtherFieldsAreToldWithThem(t *testing.T) {
	for _, test := range []struct {
		field, when string
		class       plugin.ChangeClass
	}{
		{"calico.snatToUpstreamDNS.enabled", "with overlay.enabled: false", plugin.Rolling},
		{"calico.vxlan.enabled", "with overlay.enabled: true, ipam.type: calico-ipam", plugin.Disruptive},
		{"cilium.encryption.strictMode", "with encryption.enabled: true, encryption.mode: wireguard", plugin.Disruptive},
		{"cilium.ipv4NativeRoutingCIDREnabled", "with tunnel: disabled", plugin.Disruptive},
		{"cilium.ipv6.enabled", "if the network goes from both families to IPv4 alone", plugin.Disruptive},
		{"flannel.ipFamilies", "if the network goes from IPv4 alone to both families", plugin.Rolling},
		{"flannel.backend.port", "together with backend.type: host-gw", plugin.Rolling},
	} {
		t.Run(test.field, func(t *testing.T) {
			NewWithT(t).Expect(slices.ContainsFunc(explained(t, test.field).Changes, func(c explain.Change) bool {
				return c.Class == test.class && slices.Contains(c.When, test.when)
			})).To(BeTrue())
		})
	}
}
