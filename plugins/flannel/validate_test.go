// SPDX-License-Identifier: Apache-2.0

package flannel_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/contract"
)

func TestWhatIsRefused(t *testing.T) {
	const invalid, forbidden = "Invalid value @ ", "Forbidden @ "
	for _, test := range []struct {
		name, config string
		options      []option
		want         []string
	}{
		{name: "a backend that there is not here", config: "backend: {type: udp}", want: []string{invalid + "backend.type"}},
		{name: "no backend", config: "backend: {type: ''}", want: []string{invalid + "backend.type"}},
		{name: "no port", config: "backend: {port: 0}", want: []string{invalid + "backend.port"}},
		{name: "a port too large", config: "backend: {port: 65536}", want: []string{invalid + "backend.port"}},
		{name: "no identifier", config: "backend: {vni: 0}", want: []string{invalid + "backend.vni"}},
		{name: "an identifier too large", config: "backend: {vni: 16777216}", want: []string{invalid + "backend.vni"}},
		{name: "VXLAN's properties without VXLAN", config: "backend: {type: host-gw, port: 4789, vni: 1, directRouting: false}",
			want: []string{forbidden + "backend.port", forbidden + "backend.vni", forbidden + "backend.directRouting"}},
		{name: "packets too small", config: "mtu: 575", want: []string{invalid + "mtu"}},
		{name: "packets too large", config: "mtu: 65536", want: []string{invalid + "mtu"}},
		{name: "packets too small for IPv6", config: "mtu: 1329", options: []option{dualStack}, want: []string{invalid + "mtu"}},
		{name: "packets just large enough for IPv6", config: "mtu: 1330", options: []option{dualStack}},
		{name: "packets just large enough for IPv6 without VXLAN", config: "{mtu: 1280, backend: {type: host-gw}}", options: []option{ipv6Only}},
		{name: "a family that the network does not have", config: "ipFamilies: [IPv4, IPv6]", want: []string{invalid + "ipFamilies[1]"}},
		{name: "a family too few", config: "ipFamilies: [IPv4]", options: []option{dualStack}, want: []string{invalid + "ipFamilies"}},
		{name: "a family twice", config: "ipFamilies: [IPv4, IPv4]", want: []string{"Duplicate value @ ipFamilies[1]"}},
		{name: "a family that there is not", config: "ipFamilies: [IPv4, IPv5]", want: []string{invalid + "ipFamilies[1]"}},
		{name: "the network's families", config: "ipFamilies: [IPv6, IPv4]", options: []option{dualStack}},
		{name: "families that are to come", config: "ipFamilies: [IPv4, IPv6]", options: []option{migrating}},
		{name: "no cpu", config: "resources: {requests: {cpu: 0}}", want: []string{invalid + "resources.requests.cpu"}},
		{name: "less than nothing", config: "resources: {limits: {memory: -1}}", want: []string{invalid + "resources.limits.memory"}},
		{name: "what there is not", config: "resources: {limits: {disk: 1}}", want: []string{invalid + "resources.limits.disk"}},
		{name: "less than the default", config: "resources: {limits: {cpu: 50m}}", want: []string{invalid + "resources.limits.cpu"}},
		{name: "less than is asked for", config: "resources: {requests: {memory: 1Gi}, limits: {memory: 500Mi}}", want: []string{invalid + "resources.limits.memory"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(try(t, test.config, test.options...).Refusals()).To(Equal(test.want))
		})
	}
}

// What was too small before may grow, although it stays too small.
func TestStepsTowardsWhatIsRightAreNotRefused(t *testing.T) {
	for _, test := range []struct {
		name, before, after string
		refused             bool
	}{
		{name: "larger packets", before: "mtu: 1300", after: "mtu: 1320"},
		{name: "smaller packets", before: "mtu: 1300", after: "mtu: 1299", refused: true},
		{name: "a limit nearer to what is requested", before: "resources: {requests: {memory: 1Gi}, limits: {memory: 100Mi}}", after: "resources: {requests: {memory: 500Mi}, limits: {memory: 200Mi}}"},
		{name: "a limit farther from it", before: "resources: {requests: {memory: 1Gi}, limits: {memory: 500Mi}}", after: "resources: {requests: {memory: 2Gi}, limits: {memory: 500Mi}}", refused: true},
		{name: "another limit", before: "resources: {requests: {memory: 1Gi}, limits: {memory: 500Mi}}", after: "resources: {requests: {cpu: 2}, limits: {cpu: 1}}", refused: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			former := networks.Request(t, test.before, dualStack)
			request := networks.Request(t, test.after, dualStack)
			request.TakenOver = former.Accepted()
			g.Expect(networks.TryRequest(t, request).Errors).To(HaveLen(map[bool]int{true: 1}[test.refused]))
		})
	}
}

// The path is the Shoot's, wherever the config was written.
func TestServicesNeedAnImplementation(t *testing.T) {
	contract.Shows(t, "N27")
	for _, mode := range []corev1beta1.ProxyMode{"", corev1beta1.ProxyModeIPTables, corev1beta1.ProxyModeIPVS, corev1beta1.ProxyModeNFTables} {
		t.Run(string(mode), func(t *testing.T) {
			g := NewWithT(t)
			on := func(f *plugin.Input) { f.KubeProxy = plugin.KubeProxy{Enabled: true, Mode: mode} }
			off := func(f *plugin.Input) { f.KubeProxy = plugin.KubeProxy{Mode: mode} }
			g.Expect(try(t, "", on).Refusals()).To(BeEmpty())
			g.Expect(try(t, "", off).Refusals()).To(Equal([]string{"Forbidden @ spec.kubernetes.kubeProxy.enabled"}))
		})
	}
}

// Without its range the daemon of a family does not start.
func TestTheRangeOfAFamilyMustBeKnown(t *testing.T) {
	g := NewWithT(t)
	unknown := func(f *plugin.Input) { f.PodCIDRs = []string{podCIDR} }
	g.Expect(try(t, "", dualStack, unknown).Refusals()).To(Equal([]string{"Required value @ status.networking.pods"}))
	planned := func(f *plugin.Input) { f.Planned = true }
	g.Expect(try(t, "", dualStack, unknown, planned).Refusals()).To(BeEmpty())
}

func TestUsersAreWarned(t *testing.T) {
	// That a cloud makes routes for some types is no reason not to warn: it may not for flannel.
	among := func(f *plugin.Input) { f.Infrastructure = plugin.Infrastructure{PodRoutes: true} }
	const segment, overlap = "host-gw needs all nodes in one layer 2 segment", "their pod ranges must not overlap"
	for _, test := range []struct {
		name, config string
		options      []option
		want         map[string]string
	}{
		{name: "nothing to tell of a default network"},
		{name: "nor among others", options: []option{among}},
		{name: "routes that need one segment", config: "backend: {type: host-gw}", want: map[string]string{"backend.type": segment}},
		{name: "others' pods, in part", config: "backend: {directRouting: true}", options: []option{among}, want: map[string]string{"backend.directRouting": overlap}},
		{name: "families that are to come", config: "ipFamilies: [IPv4, IPv6]", options: []option{migrating},
			want: map[string]string{"ipFamilies": "[IPv4 IPv6] is not in force, [IPv4] is: not all nodes are ready for two IP families"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			build(t, test.config, test.options...).ExpectWarnings(test.want)
		})
	}
	warned := build(t, "backend: {type: host-gw}", among).Warned("backend.type")
	NewWithT(t).Expect(warned).To(ConsistOf(ContainSubstring(segment), ContainSubstring(overlap)))
}
