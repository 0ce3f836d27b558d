// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

func TestWhatChangesMeanForARunningNetwork(t *testing.T) {
	const (
		vxlanOverlay = "{overlay: {enabled: true}, vxlan: {enabled: true}}"
		off          = "overlay: {enabled: false}"
		on           = "overlay: {enabled: true}"
	)
	for _, test := range []struct {
		before, after string
		path          string
		want          plugin.ChangeClass
	}{
		{"", `vethMTU: "1440"`, "vethMTU", plugin.Rolling},
		{"", "typha: {enabled: false}", "typha.enabled", plugin.Rolling},
		{"", "ebpfDataplane: {enabled: true}", "ebpfDataplane.enabled", plugin.Disruptive},
		{"", "ipam: {type: calico-ipam}", "ipam.type", plugin.Forbidden},
		{"", "ipam: {cidr: usePodCIDR}", "ipam.cidr", plugin.Rolling},
		{"", "ipam: {cidr: 100.64.0.0/24}", "ipam.cidr", plugin.Disruptive},
		{"ipam: {cidr: 100.64.1.0/24}", "ipam: {cidr: 100.64.2.0/24}", "ipam.cidr", plugin.Disruptive},
		{vxlanOverlay, "{overlay: {enabled: true}, vxlan: {enabled: true}, ipam: {cidr: 100.64.1.0/24}}", "ipam.cidr", plugin.Rolling}, // calico-ipam
		{on, off, "overlay.enabled", plugin.Disruptive},
		{off, on, "overlay.enabled", plugin.Disruptive},
		{off, "", "overlay.enabled", plugin.Disruptive},
		{on, "", "overlay.enabled", plugin.Disruptive},
		{"", off, "overlay.enabled", plugin.Disruptive},
		{"", on, "overlay.enabled", plugin.Rolling}, // IP-in-IP either way
		{"ipv4: {mode: CrossSubnet}", on, "overlay.enabled", plugin.Disruptive},
		{"", on, "overlay.createPodRoutes", plugin.Safe},
		{"backend: none", off, "overlay.enabled", plugin.Rolling}, // the cloud's routes either way
		{off, "overlay: {enabled: false, createPodRoutes: true}", "overlay.createPodRoutes", plugin.Disruptive},
		{off, "overlay: {enabled: false, createPodRoutes: true}", "backend", plugin.Disruptive},
		{on, vxlanOverlay, "ipam.type", plugin.Forbidden},
		{on, vxlanOverlay, "vxlan.enabled", plugin.Disruptive},
		{vxlanOverlay, on, "ipam.type", plugin.Forbidden},
		{vxlanOverlay, "{overlay: {enabled: true}, ipam: {type: calico-ipam}}", "vxlan.enabled", plugin.Disruptive},
		{"", "autoScaling: {mode: static}", "autoScaling.mode", plugin.Rolling},
		{"", "autoScaling: {mode: static}", "autoScaling.resources.node.cpu", plugin.Rolling},
	} {
		t.Run(fmt.Sprintf("%s from %s to %s", test.path, test.before, test.after), func(t *testing.T) {
			g := NewWithT(t)
			n := changed(t, test.before, test.after)
			classes := n.Classes()
			g.Expect(classes).To(HaveKeyWithValue(test.path, test.want))
			g.Expect(len(n.Errors) > 0).To(Equal(test.want == plugin.Forbidden || classes["ipam.type"] == plugin.Forbidden))
		})
	}
}

func TestForbiddenChangeSaysWhatToDoInstead(t *testing.T) {
	g := NewWithT(t)
	n := changed(t, "overlay: {enabled: true}", "{overlay: {enabled: true}, vxlan: {enabled: true}}")
	g.Expect(n.Errors).To(HaveLen(1))
	g.Expect(n.Errors[0].Field).To(Equal("spec.providerConfig.ipam.type"))
	g.Expect(n.Errors[0].Detail).To(ContainSubstring("leave vxlan and overlay as they were, or create a new cluster"))
}

func TestSNATComesBackWhenTheOverlayGoes(t *testing.T) {
	g := NewWithT(t)
	n := changed(t, "overlay: {enabled: true}", "overlay: {enabled: false}")
	g.Expect(names(n.node().Spec.Template.Spec.Containers)[0]).To(Equal("add-snat-rule-to-upstream-dns"))
}
