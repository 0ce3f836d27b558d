// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"testing"

	. "github.com/onsi/gomega"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
)

// Who follows the advice of the error may go on.
func TestForbiddenChangeSaysWhatToDoInstead(t *testing.T) {
	const (
		onVXLAN, offVXLAN = "{overlay: {enabled: true}, vxlan: {enabled: true}}", "{overlay: {enabled: false}, vxlan: {enabled: true}}"
		on, off           = "overlay: {enabled: true}", "overlay: {enabled: false}"
		vxlan             = "vxlan: {enabled: true}"
		writeCalicoIPAM   = "keep it by writing ipam.type: calico-ipam"
		leaveVXLAN        = "leave vxlan as it was"
		leaveBoth         = "leave vxlan and overlay as they were"
	)
	ipv4 := func(f *plugin.Input) { f.IPFamilies = []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv4} }
	dualOnAzure := func(f *plugin.Input) { dualStack(f); onAzure(f) }
	for _, test := range []struct {
		name, before, after string
		in                  option
		advice, followed    string
	}{
		{"VXLAN goes", vxlan, "", ipv4, writeCalicoIPAM, "ipam: {type: calico-ipam}"},
		{"VXLAN goes, without IP-in-IP", vxlan, "", onAzure, leaveBoth, vxlan},
		{"VXLAN goes that was none", offVXLAN, off, ipv4, writeCalicoIPAM, "{overlay: {enabled: false}, ipam: {type: calico-ipam}}"},
		{"VXLAN goes, the overlay stays", onVXLAN, on, ipv4, writeCalicoIPAM, "{overlay: {enabled: true}, ipam: {type: calico-ipam}}"},
		{"an overlay comes instead of VXLAN", vxlan, on, ipv4, writeCalicoIPAM, "{overlay: {enabled: true}, ipam: {type: calico-ipam}}"},
		{"both go", onVXLAN, "", ipv4, leaveBoth, onVXLAN},
		{"VXLAN goes, the overlay is switched off", onVXLAN, off, ipv4, leaveBoth, onVXLAN},
		{"the overlay goes, without IP-in-IP", on, off, onAzure, leaveBoth, on},
		{"the overlay comes, without IP-in-IP", off, on, onAzure, leaveBoth, off},
		{"VXLAN comes", on, onVXLAN, ipv4, leaveBoth, on},
		{"VXLAN goes, with both families", onVXLAN, on, dualStack, leaveVXLAN, onVXLAN},
		{"VXLAN goes on the way to both families", onVXLAN, on, migrating, leaveVXLAN, onVXLAN},
		{"VXLAN goes that was none, with both families", offVXLAN, off, dualStack, leaveVXLAN, offVXLAN},
		{"the overlay goes, with both families and without IP-in-IP", on, off, dualOnAzure, leaveBoth, on},
		{"calico-ipam comes", "", "ipam: {type: calico-ipam}", ipv4, "go back to the former type", ""},
		{"calico-ipam goes", "ipam: {type: calico-ipam}", "", ipv4, "go back to the former type", "ipam: {type: calico-ipam}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			before := build(t, test.before, test.in)
			refused := then(before, test.after, test.in)
			g.Expect(refused.Errors).To(HaveLen(1))
			g.Expect(refused.Errors[0].Field).To(Equal("spec.providerConfig.ipam.type"))
			g.Expect(refused.Errors[0].Detail).To(ContainSubstring(test.advice))
			g.Expect(then(before, test.followed, test.in).Errors).To(BeEmpty())
		})
	}
}

// VXLAN may have brought it, so it cannot be written once there is IPv6.
func TestCalicoIPAMDoesNotComeAlongToBothFamilies(t *testing.T) {
	for config, advice := range map[string]string{
		"ipam: {type: calico-ipam}": "stay with IPv4 and calico-ipam",
		"vxlan: {enabled: true}":    "leave vxlan as it was",
	} {
		t.Run(config, func(t *testing.T) {
			g := NewWithT(t)
			n := then(build(t, config), "", dualStack)
			g.Expect(n.Errors).To(HaveLen(1))
			g.Expect(n.Errors[0].Detail).To(ContainSubstring(advice))
		})
	}
}
