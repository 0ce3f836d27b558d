// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/built"
)

func TestABlockThatIsThereIsWrittenInFull(t *testing.T) {
	for config, want := range map[string]string{
		"overlay: {}":         `{"enabled": false, "createPodRoutes": false}`,
		"cni: {}":             `{"exclusive": false}`,
		"hubble: {}":          `{"enabled": false}`,
		"egressGateway: {}":   `{"enabled": false}`,
		"l2Announcements: {}": `{"enabled": false}`,
		"encryption: {}":      `{"enabled": false, "nodeToNodeEnabled": false, "strictMode": false}`,
		"l2Announcements: {enabled: true}": `{"enabled": true, "leaseDuration": "15s", "leaseRenewDeadline": "5s",
			"leaseRetryPeriod": "2s"}`,
	} {
		t.Run(config, func(t *testing.T) {
			g := NewWithT(t)
			var written, effective map[string]json.RawMessage
			decode(t, string(built.JSON(t, config)), &written)
			decode(t, string(build(t, config).Config), &effective)
			for block := range written {
				g.Expect(effective[block]).To(MatchJSON(want))
			}
		})
	}
}

func TestOriginsTellWhereValuesComeFrom(t *testing.T) {
	for _, test := range []struct{ config, path, want string }{
		{"", "tunnel", "default"},
		{"tunnel: vxlan", "tunnel", "user"},
		{"", "ipv4.enabled", "rule: the network's IP families decide"},
		{"overlay: {enabled: false}", "overlay.enabled", "user"},
		{"overlay: {enabled: false}", "tunnel", "rule: overlay.enabled is false"},
		{"overlay: {enabled: false}", "ipv4NativeRoutingCIDREnabled", "rule: overlay.enabled is false"},
		{"overlay: {enabled: true}", "tunnel", "default"},
		{"{overlay: {enabled: true}, tunnel: disabled}", "tunnel", "rule: overlay.enabled is true"},
		{"snatToUpstreamDNS: {enabled: true}", "enableBPFMasquerade",
			"rule: snatToUpstreamDNS and snatOutOfCluster add rules to iptables, so it is iptables that masquerades"},
	} {
		t.Run(test.config+" "+test.path, func(t *testing.T) {
			NewWithT(t).Expect(build(t, test.config).Origins[test.path].String()).To(Equal(test.want))
		})
	}
}
