// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico"
)

// onAzure is an infrastructure that drops IP-in-IP.
func onAzure(facts *plugin.Input) {
	facts.Infrastructure = plugin.Infrastructure{Type: "azure", NoIPIP: true, PodRoutes: true, OwnNetwork: true}
}

func TestWithoutIPIPNoRoutesAreDistributedUnlessAsked(t *testing.T) {
	for _, config := range []string{"", "backend: bird", "backend: vxlan", "backend: none"} {
		t.Run(config, func(t *testing.T) {
			g := NewWithT(t)
			n := build(t, config, onAzure)
			matrix[10].expect(n) // A11
			if config == "" {
				g.Expect(n.Origins["backend"].String()).To(Equal("infrastructure: azure has no IP-in-IP"))
			}
		})
	}
}

func TestWithoutIPIPAWrittenBackendIsNotInForce(t *testing.T) {
	g := NewWithT(t)
	g.Expect(build(t, "backend: bird", onAzure).Warned("backend")).To(ConsistOf("bird is not in force, none is: azure has no IP-in-IP"))
	g.Expect(build(t, "backend: none", onAzure).Warnings).To(BeEmpty())
}

// A pool of VXLAN is what is asked for, and the mode that goes with it.
func TestVXLANThatIsAskedForSetsTheModeWhateverTheBackend(t *testing.T) {
	const asked = "vxlan: {enabled: true}"
	for name, n := range map[string]*network{
		"without IP-in-IP":              build(t, asked, onAzure),
		"with backend none":             build(t, "{backend: none, "+asked+"}"),
		"overlay off for both families": build(t, "{overlay: {enabled: false}, "+asked+"}", dualStack),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(n.data("calico-config")).To(HaveKeyWithValue("calico_backend", "none"))
			g.Expect(n.env("calico-node")).To(HaveKeyWithValue("CALICO_IPV4POOL_VXLAN", "Always"))
			g.Expect(n.Origins["ipv4.mode"].String()).To(Equal("rule: vxlan.enabled is true"))
		})
	}
}

func TestWithoutIPIPAnOverlayUsesVXLAN(t *testing.T) {
	for _, config := range []string{
		"overlay: {enabled: true}",
		"{overlay: {enabled: true}, vxlan: {enabled: false}}",
		"{overlay: {enabled: true}, ipam: {type: host-local}}",
	} {
		t.Run(config, func(t *testing.T) {
			g := NewWithT(t)
			n := build(t, config, onAzure)
			matrix[2].expect(n) // A3
			g.Expect(n.Warned("overlay.enabled")).To(ConsistOf(
				"IP-in-IP is not available on azure, so the overlay uses VXLAN; and VXLAN needs calico-ipam"))
		})
	}
}

func TestTheSeedsAzureExampleIsToldWhatItGets(t *testing.T) {
	g := NewWithT(t)
	n := build(t, `{ipam: {type: host-local}, vethMTU: "1440", overlay: {enabled: true}, typha: {enabled: false}}`, onAzure)
	g.Expect(n.Warned("overlay.enabled")).To(HaveLen(1))
	g.Expect(n.Warned("ipam.type")).To(ConsistOf("host-local is not in force, calico-ipam is: VXLAN needs calico-ipam"))
	g.Expect(n.Warnings).To(HaveLen(2))
	g.Expect(n.Origins["vxlan.enabled"].String()).To(Equal("infrastructure: azure has no IP-in-IP"))
	g.Expect(n.Origins["ipam.type"].String()).To(Equal("rule: VXLAN needs calico-ipam"))
}

func TestNoWarningAboutVXLANThatTheUserWrote(t *testing.T) {
	g := NewWithT(t)
	g.Expect(build(t, "{overlay: {enabled: true}, vxlan: {enabled: true}, ipam: {type: calico-ipam}}", onAzure).Warnings).To(BeEmpty())
}

// inAzuresLandscape is a new Shoot where Gardener's extension validates overlays of calico.
func inAzuresLandscape(facts *plugin.Input) {
	onAzure(facts)
	facts.Planned = true
	facts.Infrastructure.ReadsOverlay, facts.Infrastructure.RefusesOverlay = []string{calico.Type}, []string{calico.Type}
}

func TestWhoAsksForAnOverlayThatGardenerRefusesIsTold(t *testing.T) {
	const advice = "in a new network leave overlay, vxlan and ipam.type out"
	for _, rest := range []string{"", ", vxlan: {enabled: true}", ", ipam: {type: calico-ipam}", ", vxlan: {enabled: true}, ipv4: {pool: ipip}", ", ipv4: {mode: Always}"} {
		t.Run(rest, func(t *testing.T) {
			g := NewWithT(t)
			asked := "{overlay: {enabled: true}" + rest + "}"
			g.Expect(build(t, asked, inAzuresLandscape).Warned("overlay.enabled")).To(ContainElement(
				"Gardener's extension for azure refuses a Shoot with an overlay of Calico; " + advice))
			followed := edited(t, asked, edit{"overlay": nil, "vxlan": nil, "ipam.type": nil})
			g.Expect(try(t, followed, inAzuresLandscape).Errors).To(BeEmpty())
			for name, option := range map[string]option{
				"elsewhere":              nil,
				"in a cluster that runs": func(f *plugin.Input) { inAzuresLandscape(f); f.Planned = false },
				"standalone":             func(f *plugin.Input) { onAzure(f); f.Planned = true },
			} {
				g.Expect(build(t, asked, option).Warned("overlay.enabled")).NotTo(ContainElement(ContainSubstring(advice)), name)
			}
		})
	}
}

func TestNobodyIsToldToWriteAnOverlayThatGardenerRefuses(t *testing.T) {
	for _, config := range combined(
		[]string{"{", "{overlay: {enabled: true}, ", "{overlay: {enabled: false}, "},
		[]string{"", "backend: none, ", "backend: bird, ", "backend: vxlan, "},
		[]string{"", "vxlan: {enabled: true}, ", "ipam: {type: calico-ipam}, "},
		[]string{"}", "ipv4: {pool: ipip}}", "ipv4: {mode: Never}}", "ipv4: {pool: vxlan}}", "ipv4: {pool: vxlan, mode: Always}}", "ipv4: {mode: CrossSubnet}}"},
	) {
		n := try(t, config, func(f *plugin.Input) { inAzuresLandscape(f); withNodeLocalDNS(f) })
		said := n.Errors.ToAggregate()
		for _, warning := range n.Warnings {
			NewWithT(t).Expect(warning.Message).NotTo(MatchRegexp(`write overlay.enabled: true|switch on the overlay|overlay on`), config)
		}
		if said != nil {
			NewWithT(t).Expect(said.Error()).NotTo(ContainSubstring("overlay.enabled: true"), config)
		}
	}
}

// Gardener's extension fails on such a Shoot. Elsewhere it is a way to say that there is none.
func TestAnOverlayThatStatesNothingIsRefusedWhereGardenerNeedsIt(t *testing.T) {
	for _, config := range []string{"overlay: {}", "overlay: {createPodRoutes: true}"} {
		g := NewWithT(t)
		n := try(t, config, inAzuresLandscape)
		g.Expect(n.Refusals()).To(Equal([]string{"Required value @ overlay.enabled"}))
		g.Expect(n.Errors[0].Detail).To(Equal("write false, which it means without a value; Gardener's extension for azure fails on such an overlay"))
		for _, option := range []option{onAzure, func(f *plugin.Input) { inAzuresLandscape(f); f.Planned = false }} {
			n := build(t, config, option)
			g.Expect(n.Values["overlay.enabled"]).To(BeFalse())
			g.Expect(n.Origins["overlay.enabled"].String()).To(Equal("default"))
		}
	}
}

// VXLAN comes and goes with the overlay there, and calico-ipam with it. Were they kept
// without it, pods would have addresses to which the cloud makes no routes.
func TestWithoutIPIPAnOverlayCannotComeOrGoLater(t *testing.T) {
	const on = "overlay: {enabled: true}"
	for _, test := range []struct{ before, after string }{
		{"", on},
		{"overlay: {enabled: false}", on},
		{on, ""},
		{on, "overlay: {enabled: false}"},
	} {
		t.Run(test.before+" then "+test.after, func(t *testing.T) {
			g := NewWithT(t)
			n := changed(t, test.before, test.after, onAzure)
			g.Expect(n.Refusals()).To(Equal([]string{"Forbidden @ ipam.type"}))
			g.Expect(n.Errors[0].Detail).To(ContainSubstring("leave vxlan and overlay as they were"))
		})
	}
}

func TestOverlayOffIsTheSameEverywhere(t *testing.T) {
	g := NewWithT(t)
	for _, config := range []string{"overlay: {enabled: false}", "overlay: {enabled: false, createPodRoutes: true}"} {
		g.Expect(observe(build(t, config, onAzure))).To(Equal(observe(build(t, config))))
	}
}

// On Azure a webhook looks for this variable too, and for nothing else to change.
func TestEBPFKeepsOffVirtualFunctions(t *testing.T) {
	const variable = "FELIX_BPFDATAIFACEPATTERN"
	virtual := func(f *plugin.Input) { f.Infrastructure.VirtualFunctions = true }
	g := NewWithT(t)
	g.Expect(build(t, "", virtual).env("calico-node")).NotTo(HaveKey(variable))
	g.Expect(build(t, "ebpfDataplane: {enabled: true}").env("calico-node")).NotTo(HaveKey(variable))
	n := build(t, "ebpfDataplane: {enabled: true}", virtual)
	g.Expect(n.env("calico-node")).To(HaveKeyWithValue(variable,
		"^((en|wl|ww|sl|ib)[opsx].*|(eth|wlan|wwan).*|tunl0$|vxlan.calico$|wireguard.cali$|wg-v6.cali$)"))
	pattern := regexp.MustCompile(n.env("calico-node")[variable])
	g.Expect(pattern.MatchString("enP12345s1")).To(BeFalse())
	g.Expect(pattern.MatchString("ens1")).To(BeTrue())
	for _, object := range n.Objects.For(plugin.Shoot) {
		g.Expect(object.GetObjectKind().GroupVersionKind().Kind).NotTo(Equal("FelixConfiguration"), "it is the user's")
	}
}

func TestWhoMayShareANetworkIsToldToKeepPodRangesApart(t *testing.T) {
	shared := func(f *plugin.Input) { f.Infrastructure.OwnNetwork = false }
	for _, test := range []struct {
		name, config string
		options      []option
		want         bool
	}{
		{"no overlay", "overlay: {enabled: false}", []option{shared}, true},
		{"only the cloud's routes", "backend: none", []option{shared}, true},
		{"both families", "", []option{dualStack, shared}, true},
		{"an overlay hides pods", "overlay: {enabled: true}", []option{shared}, false},
		{"and so does the default", "", []option{shared}, false},
		{"a network of its own", "overlay: {enabled: false}", nil, false},
		{"IPv6 ranges are never the same", "overlay: {enabled: false}", []option{ipv6Only, shared}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			matcher := BeEmpty()
			if test.want {
				matcher = ConsistOf(ContainSubstring("must not overlap"))
			}
			NewWithT(t).Expect(build(t, test.config, test.options...).Warned("overlay.enabled")).To(matcher)
		})
	}
}

// onACloud is an infrastructure whose routes lead to the nodes' pod ranges.
func onACloud(facts *plugin.Input) {
	facts.Infrastructure = plugin.Infrastructure{Type: "cloud", PodRoutes: true, PodRouter: "the road office", OwnNetwork: true}
}

func TestRoutesOfACloudLeadToItsPods(t *testing.T) {
	const strays = "Forbidden @ ipam.type"
	for _, test := range []struct {
		name, config string
		in           option
		want         string // of the line; with strays also the error
		followed     []string
	}{
		{"other addresses", "{overlay: {enabled: false}, ipam: {type: calico-ipam}}", onACloud, strays,
			[]string{"overlay: {enabled: false}", "{overlay: {enabled: true}, ipam: {type: calico-ipam}}"}},
		{"with backend none", "{backend: none, ipam: {type: calico-ipam}}", onACloud, strays,
			[]string{"backend: none", "{backend: none, overlay: {enabled: true}, ipam: {type: calico-ipam}}"}},
		{"that VXLAN brings", "{overlay: {enabled: false}, vxlan: {enabled: true}}", onACloud, strays,
			[]string{"overlay: {enabled: false}", "{overlay: {enabled: true}, vxlan: {enabled: true}}"}},
		{"without IP-in-IP", "ipam: {type: calico-ipam}", onAzure, strays, []string{""}},
		{"for IPv6", "vxlan: {enabled: true}", func(f *plugin.Input) { dualStack(f); onACloud(f) }, strays, []string{""}},
		{"the nodes' addresses", "overlay: {enabled: false}", onACloud, "no encapsulation; routes by the road office", nil},
		{"an overlay", "{overlay: {enabled: true}, ipam: {type: calico-ipam}}", onACloud, "IP-in-IP between nodes; routes by BIRD", nil},
		{"routes of its own", "{overlay: {enabled: false, createPodRoutes: true}, ipam: {type: calico-ipam}}", onACloud, "no encapsulation; routes by BIRD", nil},
		{"nothing is known", "{backend: none, ipam: {type: calico-ipam}}", func(*plugin.Input) {}, "no encapsulation; routes by the infrastructure", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			n := try(t, test.config, test.in)
			if test.want != strays {
				g.Expect(n.Errors).To(BeEmpty())
				g.Expect(n.DataPath).To(Equal(test.want))
				return
			}
			g.Expect(n.Refusals()).To(Equal([]string{strays}))
			g.Expect(n.Warned("ipam.type")).NotTo(ContainElement(ContainSubstring("kube-controllers")), "the error tells")
			g.Expect(n.DataPath).To(HaveSuffix("nothing, since calico-ipam gives pods addresses outside of their node's range"))
			g.Expect(strings.Contains(n.Errors[0].Detail, "or write overlay.enabled: true")).To(Equal(len(test.followed) > 1))
			for _, config := range test.followed {
				g.Expect(try(t, config, test.in).Errors).To(BeEmpty(), config)
			}
		})
	}
}

// A release that did not look let such networks be made.
func TestARunningNetworkWhosePodsNoRouteLeadsToIsWarnedAndMayChange(t *testing.T) {
	const config = "overlay: {enabled: false}, ipam: {type: calico-ipam}"
	g := NewWithT(t)
	before := build(t, "{"+config+"}")
	n := then(before, "{"+config+`, vethMTU: "1300"}`, onACloud)
	g.Expect(n.Errors).To(BeEmpty())
	g.Expect(n.Warned("ipam.type")).To(ConsistOf(ContainSubstring("and calico-ipam gives pods other addresses")))
	g.Expect(then(before, "{overlay: {enabled: true}, ipam: {type: calico-ipam}}", onACloud).Errors).To(BeEmpty())
}
