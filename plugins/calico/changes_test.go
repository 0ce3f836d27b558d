// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

func TestWhatChangesMeanForARunningNetwork(t *testing.T) {
	const (
		vxlanOverlay = "{overlay: {enabled: true}, vxlan: {enabled: true}}"
		off          = "overlay: {enabled: false}"
		on           = "overlay: {enabled: true}"
		podRoutes    = "overlay: {enabled: false, createPodRoutes: true}"
		calicoIPAM   = "ipam: {type: calico-ipam}"
		vxlanAlone   = "{ipam: {type: calico-ipam}, vxlan: {enabled: true}}"
	)
	for _, test := range []struct {
		before, after string
		path          string
		want          plugin.ChangeClass
	}{
		{"", `vethMTU: "1440"`, "vethMTU", plugin.Rolling},
		{`vethMTU: "0"`, `vethMTU: "+0"`, "vethMTU", plugin.Safe}, // the same number
		{`vethMTU: "1440"`, `vethMTU: "+1450"`, "vethMTU", plugin.Rolling},
		{"", "typha: {enabled: false}", "typha.enabled", plugin.Rolling},
		{"", "ebpfDataplane: {enabled: true}", "ebpfDataplane.enabled", plugin.Disruptive},
		{"", "ipam: {type: calico-ipam}", "ipam.type", plugin.Forbidden},
		{"", "ipam: {cidr: usePodCIDR}", "ipam.cidr", plugin.Rolling},
		{"ipv4: {mode: Never}", podRoutes, "overlay.createPodRoutes", plugin.Rolling}, // BIRD either way, and its routes stay while it restarts
		{podRoutes, "{overlay: {enabled: false, createPodRoutes: true}, typha: {enabled: false}}", "typha.enabled", plugin.Rolling},
		{podRoutes, "{overlay: {enabled: false, createPodRoutes: true}, autoScaling: {mode: static}}", "autoScaling.mode", plugin.Rolling},
		{on, podRoutes, "overlay.createPodRoutes", plugin.Disruptive},
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
		{off, podRoutes, "overlay.createPodRoutes", plugin.Disruptive},
		{off, podRoutes, "backend", plugin.Disruptive},
		{on, vxlanOverlay, "ipam.type", plugin.Forbidden},
		{on, vxlanOverlay, "vxlan.enabled", plugin.Disruptive},
		{vxlanOverlay, on, "ipam.type", plugin.Forbidden},
		{vxlanOverlay, "{overlay: {enabled: true}, ipam: {type: calico-ipam}}", "vxlan.enabled", plugin.Disruptive},
		{calicoIPAM, vxlanAlone, "vxlan.enabled", plugin.Rolling}, // the pool that is there stays
		{calicoIPAM, vxlanAlone, "ipv4.pool", plugin.Rolling},
		{vxlanAlone, calicoIPAM, "vxlan.enabled", plugin.Rolling},
		{vxlanAlone, "{overlay: {enabled: true}, ipam: {type: calico-ipam}}", "vxlan.enabled", plugin.Disruptive},
		{off, "{overlay: {enabled: false}, ipv4: {pool: vxlan}}", "ipv4.pool", plugin.Rolling},
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

func TestReasonOfAChangeIsWhatHappens(t *testing.T) {
	const (
		poolStays = "the existing address pool does not change"
		podRoutes = "overlay: {enabled: false, createPodRoutes: true}"
		goesOn    = "while traffic continues, since routes and tunnels stay"
		waits     = "only after the cloud's route controller has set the condition to False"
		poolSays  = "the address pool that comes with overlay decides how packets travel"
	)
	for _, test := range []struct {
		before, after string
		want          map[string]string // part of the reasons, by path
	}{
		{"", "ipv4: {pool: vxlan}", map[string]string{"ipv4.pool": poolStays}},
		{"overlay: {enabled: true}", "{overlay: {enabled: true}, ipv4: {pool: vxlan}}", map[string]string{"ipv4.pool": poolSays}},
		{"overlay: {enabled: false}", "{overlay: {enabled: false}, ipv4: {pool: vxlan}}", map[string]string{"ipv4.pool": poolSays}},
		{"overlay: {enabled: true}", "overlay: {enabled: false}", map[string]string{"ipv4.mode": poolSays}},
		{"ipam: {type: calico-ipam}", "{ipam: {type: calico-ipam}, vxlan: {enabled: true}}",
			map[string]string{"vxlan.enabled": poolStays, "ipv4.pool": poolStays}},
		{withMultus, "", map[string]string{"multus.enabled": "every NetworkAttachmentDefinition that users wrote is deleted"}},
		{`vethMTU: "0"`, `vethMTU: "+0"`, map[string]string{"vethMTU": "only the spelling changes"}},
		{podRoutes, "{overlay: {enabled: false, createPodRoutes: true}, typha: {enabled: false}}", map[string]string{"typha.enabled": goesOn}},
		{podRoutes, "{overlay: {enabled: false, createPodRoutes: true}, autoScaling: {mode: static}}", map[string]string{"autoScaling.mode": goesOn}},
		{"ipv4: {mode: Never}", podRoutes, map[string]string{"overlay.createPodRoutes": goesOn}},
		{"overlay: {enabled: true}", "overlay: {enabled: false}", map[string]string{"backend": waits}},
		{podRoutes, "overlay: {enabled: false}", map[string]string{"backend": waits}},
		{"overlay: {enabled: false}", "{overlay: {enabled: false}, typha: {enabled: false}}", map[string]string{"typha.enabled": goesOn}},
	} {
		t.Run(test.before+" then "+test.after, func(t *testing.T) {
			g := NewWithT(t)
			reasons := map[string]string{}
			for _, change := range changed(t, test.before, test.after).Changes {
				reasons[change.Path] = change.Reason
			}
			for path, want := range test.want {
				g.Expect(reasons).To(HaveKeyWithValue(path, ContainSubstring(want)))
			}
		})
	}
}

// Felix is told of tunnels what it was told before, so none is taken down.
func TestVXLANWithoutOverlayOnlyChangesThePoolToMake(t *testing.T) {
	g := NewWithT(t)
	before, after := observe(build(t, "ipam: {type: calico-ipam}")), observe(build(t, "vxlan: {enabled: true}"))
	g.Expect(after.poolVXLAN).To(Equal("Always"))
	after.poolIPIP, after.poolVXLAN = before.poolIPIP, before.poolVXLAN
	g.Expect(after).To(Equal(before))
}

// A status without ipam is damaged: Trellis always writes it.
func TestAnIPAMThatTheStatusLacksIsNotHeldAgainstTheUser(t *testing.T) {
	g := NewWithT(t)
	request := requestFor(t, "")
	request.Applied = &pipeline.Applied{Config: []byte(`{"backend":"bird"}`)}
	n := tryRequest(t, request)
	g.Expect(n.Errors).To(BeEmpty())
	g.Expect(n.Classes()).To(HaveKeyWithValue("ipam.type", plugin.Disruptive))
}

func TestSNATComesBackWhenTheOverlayGoes(t *testing.T) {
	g := NewWithT(t)
	n := changed(t, "overlay: {enabled: true}", "overlay: {enabled: false}")
	g.Expect(names(n.node().Spec.Template.Spec.Containers)[0]).To(Equal("add-snat-rule-to-upstream-dns"))
}
