// SPDX-License-Identifier: Apache-2.0

package flannel_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
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
			request := requestFor(t, test.after)
			request.Applied = build(t, test.before).Applied()
			n := tryRequest(t, request)
			g.Expect(n.Errors).To(BeEmpty())
			g.Expect(classes(n)).To(Equal(test.want))
		})
	}
}

func classes(n *network) map[string]plugin.ChangeClass {
	found := map[string]plugin.ChangeClass{}
	for _, change := range n.Changes {
		found[change.Path] = change.Class
	}
	return found
}

func TestFamiliesMayComeAndNotGo(t *testing.T) {
	for _, test := range []struct {
		name          string
		before, after option
		want          plugin.ChangeClass
	}{
		{"both instead of IPv4", migrating, dualStack, plugin.Rolling},
		{"another order", dualStack, ipv6First, plugin.Safe},
		{"both, but not all nodes are ready", dualStack, migrating, plugin.Forbidden},
		{"IPv6 instead of both", dualStack, ipv6Only, plugin.Forbidden},
		{"both instead of IPv6", ipv6Only, dualStack, plugin.Forbidden},
		{"IPv6 instead of IPv4", migrating, ipv6Only, plugin.Forbidden},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			request := requestFor(t, "", test.after)
			request.Applied = build(t, "", test.before).Applied()
			n := tryRequest(t, request)
			g.Expect(classes(n)).To(HaveKeyWithValue("ipFamilies", test.want))
			if test.want == plugin.Forbidden {
				g.Expect(errorsOf(n)).To(Equal([]string{"Forbidden @ ipFamilies"}))
			} else {
				g.Expect(n.Errors).To(BeEmpty())
			}
		})
	}
}
