// SPDX-License-Identifier: Apache-2.0

package flannel_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/built"
)

func TestWhatChangesMeanForARunningNetwork(t *testing.T) {
	const hostGateway = "backend: {type: host-gw}"
	for _, test := range []struct {
		before, after string
		want          map[string]plugin.ChangeClass
	}{
		{"", "mtu: 1400", map[string]plugin.ChangeClass{"mtu": plugin.Rolling}},
		{"", "nftables: true", map[string]plugin.ChangeClass{"nftables": plugin.Rolling}},
		{"", "resources: {requests: {cpu: 1}}", map[string]plugin.ChangeClass{"resources.requests.cpu": plugin.Rolling}},
		{"", "resources: {limits: {memory: 1Gi}}", map[string]plugin.ChangeClass{"resources.limits.memory": plugin.Rolling}},
		{"", "backend: {port: 4789}", map[string]plugin.ChangeClass{"backend.port": plugin.Disruptive}},
		{"", "backend: {vni: 2}", map[string]plugin.ChangeClass{"backend.vni": plugin.Disruptive}},
		{"", "backend: {directRouting: true}", map[string]plugin.ChangeClass{"backend.directRouting": plugin.Rolling}},
		{"", "backend: {type: vxlan}", map[string]plugin.ChangeClass{}},
		{"", hostGateway, map[string]plugin.ChangeClass{
			"backend.type": plugin.Rolling, "backend.port": plugin.Rolling, "backend.vni": plugin.Rolling, "backend.directRouting": plugin.Rolling}},
		{hostGateway, "", map[string]plugin.ChangeClass{
			"backend.type": plugin.Rolling, "backend.port": plugin.Rolling, "backend.vni": plugin.Rolling, "backend.directRouting": plugin.Rolling}},
	} {
		t.Run(fmt.Sprintf("from %s to %s", test.before, test.after), func(t *testing.T) {
			g := NewWithT(t)
			n := changed(t, test.before, test.after)
			g.Expect(n.Errors).To(BeEmpty())
			g.Expect(n.Classes()).To(Equal(test.want))
		})
	}
}

// The pipeline decides which families may follow which.
func TestWhatFamiliesThatComeAndGoMean(t *testing.T) {
	ipv4 := built.Families(extensionsv1alpha1.IPv4)
	type classesByPath = map[string]plugin.ChangeClass
	for _, test := range []struct {
		name, config  string
		before, after option
		want          classesByPath
	}{
		{"both instead of IPv4", "", migrating, dualStack, classesByPath{"ipFamilies": plugin.Rolling}},
		{"both, but not all nodes are ready any more", "", dualStack, migrating, classesByPath{}},
		{"IPv4 instead of both", "", dualStack, ipv4, classesByPath{"ipFamilies": plugin.Disruptive}},
		{"another order in the config", "ipFamilies: [IPv6, IPv4]", dualStack, dualStack, classesByPath{"ipFamilies": plugin.Safe}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			n := then(build(t, "", test.before), test.config, test.after)
			g.Expect(n.Errors).To(BeEmpty())
			g.Expect(n.Classes()).To(Equal(test.want))
		})
	}
}

func TestAnotherPodRangeRestartsTheDaemon(t *testing.T) {
	g := NewWithT(t)
	n := then(build(t, "", dualStack), "", func(f *plugin.Input) { dualStack(f); f.PodCIDRs = []string{podCIDR, "2001:db8:9::/56"} })
	g.Expect(n.Classes()).To(Equal(map[string]plugin.ChangeClass{"status.networking.pods": plugin.Rolling}))
}
