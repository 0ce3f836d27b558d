// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/providers/routes"
)

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, each := range texts {
		all = append(all, netip.MustParsePrefix(each))
	}
	return all
}

var pods = prefixes("100.96.0.0/11", "2001:db8::/56")

func nodeWith(name string, podCIDRs ...string) corev1.Node {
	return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: "example://" + name, PodCIDRs: podCIDRs}}
}

func machineOf(providerID string) string {
	machine, ours := strings.CutPrefix(providerID, "example://")
	if !ours {
		return ""
	}
	return machine
}

// problems returns what is wrong with nodes, by name.
func problems(nodes ...corev1.Node) map[string]string {
	found := map[string]string{}
	for _, n := range neededBy(nodes, pods, machineOf) {
		found[n.node.Name] = n.problem
	}
	return found
}

// A cluster's users can write anything into its nodes.
func TestWhatNodesStateIsDistrusted(t *testing.T) {
	for name, test := range map[string]struct {
		ranges []string
		want   string
	}{
		"two families":            {[]string{"100.96.1.0/24", "2001:db8:0:1::/64"}, ""},
		"no range":                {nil, "spec.podCIDRs is empty; kube-controller-manager must allocate"},
		"nonsense":                {[]string{"\x1b[31m" + strings.Repeat("x", 1000)}, "spec.podCIDRs has \"\\x1b[31mxxx"},
		"an address":              {[]string{"100.96.1.1/24"}, `spec.podCIDRs has "100.96.1.1/24", which is no range`},
		"IPv4 as IPv6":            {[]string{"::ffff:100.96.1.0/120"}, "which is no range"},
		"everything":              {[]string{"0.0.0.0/0"}, "spec.podCIDRs has 0.0.0.0/0, which is not a part of the cluster's range of pods"},
		"all pods":                {[]string{"100.96.0.0/11"}, "not a part of"},
		"nodes":                   {[]string{"10.250.0.0/24"}, "not a part of"},
		"another family":          {[]string{"2001:db9::/64"}, "not a part of"},
		"two ranges of one":       {[]string{"100.96.1.0/24", "100.96.2.0/24"}, "two ranges of one IP family"},
		"three ranges":            {[]string{"100.96.1.0/24", "2001:db8:0:1::/64", "2001:db8:0:2::/64"}, "spec.podCIDRs has 3 ranges"},
		"a part that is too wide": {[]string{"100.0.0.0/8"}, "not a part of"},
	} {
		g := NewWithT(t)
		found := problems(nodeWith("a", test.ranges...))["a"]
		if test.want == "" {
			g.Expect(found).To(BeEmpty(), name)
		}
		g.Expect(found).To(ContainSubstring(test.want), name)
		g.Expect(len(found)).To(BeNumerically("<", 300), name)
	}
	g := NewWithT(t)
	stranger := nodeWith("b", "100.96.1.0/24")
	stranger.Spec.ProviderID = "other://b"
	g.Expect(problems(stranger)["b"]).To(Equal(`spec.providerID is "other://b", which is no machine of this infrastructure`))
	old := nodeWith("c")
	old.Spec.PodCIDR = "100.96.1.0/24"
	g.Expect(problems(old)["c"]).To(BeEmpty(), "the older field")
}

func TestNoTwoNodesGetOneRange(t *testing.T) {
	g := NewWithT(t)
	found := problems(
		nodeWith("a", "100.96.1.0/24"), nodeWith("b", "100.96.1.0/24"),
		nodeWith("c", "100.96.2.0/24", "2001:db8::/64"),
		nodeWith("d", "100.96.4.0/24"), nodeWith("e", "100.96.4.0/22"), nodeWith("f", "100.96.7.0/24"), nodeWith("g", "100.96.7.128/25"),
		nodeWith("h", "100.96.8.0/24"),
	)
	g.Expect(found).To(Equal(map[string]string{
		"a": `its range overlaps with 100.96.1.0/24 of the node "b"`, "b": `its range overlaps with 100.96.1.0/24 of the node "a"`, "c": "",
		"d": `its range overlaps with 100.96.4.0/22 of the node "e"`, "e": `its range overlaps with 100.96.4.0/24 of the node "d"`,
		"f": `its range overlaps with 100.96.4.0/22 of the node "e"`, "g": `its range overlaps with 100.96.7.0/24 of the node "f"`, "h": "",
	}))
	twin := nodeWith("b", "100.96.2.0/24")
	twin.Spec.ProviderID = "example://a"
	found = problems(nodeWith("a", "100.96.1.0/24"), twin)
	g.Expect(found["a"]).To(Equal(`another node has the same spec.providerID "example://a"`))
	g.Expect(found["b"]).To(Equal(found["a"]))
}

// FuzzNoTwoNodesGetOverlappingRanges holds that refuseOverlaps finds what a comparison of all pairs
// finds.
func FuzzNoTwoNodesGetOverlappingRanges(f *testing.F) {
	f.Add([]byte{0, 8, 0, 16, 1, 24})
	f.Fuzz(func(t *testing.T, data []byte) {
		var nodes []corev1.Node
		for i := 0; i+1 < len(data) && len(nodes) < 50; i += 2 {
			prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 96 + data[i]>>4, data[i] << 4, 0}), 12+int(data[i+1])%13).Masked()
			nodes = append(nodes, nodeWith(fmt.Sprintf("n%02d", i), prefix.String()))
		}
		all := neededBy(nodes, pods, machineOf)
		for i := range all {
			overlaps := false
			for j := range all {
				overlaps = overlaps || i != j && len(all[i].ranges) > 0 && len(all[j].ranges) > 0 && all[i].ranges[0].Overlaps(all[j].ranges[0])
			}
			if got := all[i].problem != ""; len(all[i].ranges) > 0 && got != overlaps {
				t.Fatalf("%s: %v, want %v", all[i].ranges[0], got, overlaps)
			}
		}
	})
}

// listing has a table with routes, and machines a, b and c, of which c does not forward.
func listing(there ...routes.Route) *routes.Listing {
	for i := range there {
		there[i].Table = "t"
	}
	return &routes.Listing{
		Tables:   []routes.Table{{ID: "t", Routes: there}},
		Machines: map[string]routes.Machine{"a": {Forwards: true}, "b": {Forwards: true}, "c": {}, "d": {Forwards: true, Assigned: prefixes("100.96.4.0/22")}},
	}
}

func owned(destination, machine string) routes.Route {
	return routes.Route{Destination: netip.MustParsePrefix(destination), Machine: machine, Target: machine, Owned: true}
}

func foreign(destination, machine string) routes.Route {
	r := owned(destination, machine)
	r.Owned = false
	return r
}

func TestOnlyWhatDiffersIsChanged(t *testing.T) {
	wants := func(machine string) routes.Route {
		return routes.Route{Table: "t", Destination: netip.MustParsePrefix("100.96.1.0/24"), Machine: machine}
	}
	elsewhere := foreign("100.96.1.0/24", "")
	elsewhere.Target = "igw-1"
	broken := foreign("100.96.9.0/24", "")
	broken.Broken = true
	stopped := owned("100.96.1.0/24", "a")
	stopped.Broken = true
	for name, test := range map[string]struct {
		node  corev1.Node
		there []routes.Route
		want  plan
	}{
		"nothing is there":          {nodeWith("a", "100.96.1.0/24"), nil, plan{make: []routes.Route{wants("a")}, without: map[string]lack{"a": {}}}},
		"the route is there":        {nodeWith("a", "100.96.1.0/24"), []routes.Route{owned("100.96.1.0/24", "a")}, plan{}},
		"another has made it":       {nodeWith("a", "100.96.1.0/24"), []routes.Route{foreign("100.96.1.0/24", "a")}, plan{}},
		"it leads to another node":  {nodeWith("a", "100.96.1.0/24"), []routes.Route{owned("100.96.1.0/24", "b")}, plan{make: []routes.Route{wants("a")}, without: map[string]lack{"a": {}}}},
		"it leads to what is gone":  {nodeWith("a", "100.96.1.0/24"), []routes.Route{owned("100.96.1.0/24", "")}, plan{make: []routes.Route{wants("a")}, without: map[string]lack{"a": {}}}},
		"another's leads elsewhere": {nodeWith("a", "100.96.1.0/24"), []routes.Route{elsewhere}, plan{without: map[string]lack{"a": {reason: "the route table t has a route to 100.96.1.0/24 that Trellis has not made and that leads to igw-1; delete it"}}}},
		"the machine does not run":  {nodeWith("a", "100.96.1.0/24"), []routes.Route{stopped}, plan{without: map[string]lack{"a": {reason: "the machine a does not run"}}}},
		"a node is gone":            {nodeWith("a", "100.96.1.0/24"), []routes.Route{owned("100.96.1.0/24", "a"), owned("100.96.2.0/24", "")}, plan{remove: []routes.Route{{Table: "t", Destination: netip.MustParsePrefix("100.96.2.0/24"), Owned: true}}}},
		"others' routes":            {nodeWith("a", "100.96.1.0/24"), []routes.Route{owned("100.96.1.0/24", "a"), foreign("100.96.2.0/24", "b"), foreign("0.0.0.0/0", "")}, plan{}},
		"another's lost route":      {nodeWith("a", "100.96.1.0/24"), []routes.Route{owned("100.96.1.0/24", "a"), broken}, plan{lost: []routes.Route{{Table: "t", Destination: netip.MustParsePrefix("100.96.9.0/24"), Broken: true}}}},
		"a node with a problem":     {nodeWith("a", "100.96.1.0/24", "100.96.2.0/24"), []routes.Route{owned("100.96.1.0/24", "a")}, plan{without: map[string]lack{"a": {"spec.podCIDRs has two ranges of one IP family", true}}}},
		"an unknown machine":        {nodeWith("z", "100.96.1.0/24"), []routes.Route{owned("100.96.1.0/24", "")}, plan{without: map[string]lack{"z": {reason: "the infrastructure has no machine z of this cluster"}}}},
		"a machine that must route": {nodeWith("c", "100.96.1.0/24"), []routes.Route{owned("100.96.1.0/24", "c")}, plan{forward: []string{"c"}, without: map[string]lack{"c": {}}}},
		"an assigned range":         {nodeWith("d", "100.96.5.0/24"), nil, plan{}},
	} {
		g := NewWithT(t)
		if test.want.without == nil {
			test.want.without = map[string]lack{}
		}
		got := planned(neededBy([]corev1.Node{test.node}, pods, machineOf), pods, listing(test.there...))
		g.Expect(*got).To(Equal(test.want), name)
	}
}

func TestEachTableGetsItsRoutes(t *testing.T) {
	g := NewWithT(t)
	there := listing(owned("100.96.1.0/24", "a"))
	there.Tables = append(there.Tables, routes.Table{ID: "u"})
	p := planned(neededBy([]corev1.Node{nodeWith("a", "100.96.1.0/24")}, pods, machineOf), pods, there)
	g.Expect(p.make).To(Equal([]routes.Route{{Table: "u", Destination: netip.MustParsePrefix("100.96.1.0/24"), Machine: "a"}}))
	there.Tables = nil
	p = planned(neededBy([]corev1.Node{nodeWith("a", "100.96.1.0/24")}, pods, machineOf), pods, there)
	g.Expect(p.without["a"].reason).To(Equal("the infrastructure has no route table of this cluster"))
}
