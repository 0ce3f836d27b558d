// SPDX-License-Identifier: Apache-2.0

package realagents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trellis-network/trellis/test/standalone"
)

const static = ", autoScaling: {mode: static}"

// Configs of networks.
const (
	vxlan = "overlay: {enabled: true}, vxlan: {enabled: true}, typha: {enabled: false}" + static
	typha = "overlay: {enabled: true}, vxlan: {enabled: true}, typha: {enabled: true}"
	none  = "overlay: {enabled: false}, typha: {enabled: false}" + static
	bird  = "overlay: {enabled: false, createPodRoutes: true}, typha: {enabled: false}" + static
	ebpf  = "overlay: {enabled: false}, typha: {enabled: false}, ebpfDataplane: {enabled: true}" + static
	mtu   = `, vethMTU: "1400"`
)

// variants are the networks that are tried. Each has a sandbox of its own.
var variants = []struct {
	name    string
	network network
	// needs are archives that the agents must have.
	needs []string
	// routed networks rely on routes that others make.
	routed bool
	// changes are further configs of the running network, one after the other.
	changes []string
}{
	{name: "VXLAN", network: network{config: vxlan}, changes: []string{vxlan + mtu}},
	// BIRD's calico-node tells of its end, which one with backend none must take back.
	{name: "none, routes by the router", routed: true, network: network{config: none}, changes: []string{bird, none}},
	// A restart must not take BIRD's routes away.
	{name: "BIRD without encapsulation", network: network{config: bird}, changes: []string{bird + mtu}},
	{name: "VXLAN with Typha and autoscalers", needs: []string{"calico-cpa.tar", "calico-cpva.tar"}, network: network{config: typha}, changes: []string{vxlan}},
	{name: "dual-stack, BIRD without encapsulation", network: network{families: "IPv4, IPv6", config: bird}, changes: []string{bird + mtu}},
	{name: "eBPF without kube-proxy", routed: true, network: network{config: ebpf, withoutKubeProxy: true}, changes: []string{ebpf + mtu}},
	// Unlike the published image, that of the agents starts iptables and nft by agents/as-root.
	{name: "VXLAN, few rights, iptables by as-root", network: network{config: vxlan, fewRights: true}, changes: []string{vxlan + mtu}},
}

// dropped is how many datagrams a change may cost in one direction, of one each five milliseconds: not
// the eleven seconds in which BIRD's routes once were gone. Usually it is none, or the one that is
// on its way while a route is replaced. The limit is higher because a busy machine drops some, too.
const dropped = 10

func TestPodsTalkThroughRealAgents(t *testing.T) {
	for _, each := range variants {
		t.Run(each.name, func(t *testing.T) {
			result := begin(t, each.name)
			for _, archive := range each.needs {
				if _, err := os.Stat(filepath.Join(*agents["calico"], archive)); err != nil && *agents["calico"] != "" {
					result.skip("the agents have no " + archive)
				}
			}
			if each.network.withoutKubeProxy {
				result.needsEBPF()
			}
			l := newLandscape(t, each.network)
			l.apply()
			if each.routed {
				l.Expect(l.shoot.MakeRoutes(t.Context())).To(Succeed())
			}
			l.becomesWell()
			result.well = time.Since(l.shoot.Applied)
			pods := l.senders()
			l.allReach(pods)
			l.policiesWork(pods[0], pods[1])
			l.probesAreProtected(pods[0])
			if len(each.needs) > 0 {
				l.autoscalersAct()
			}
			for _, config := range each.changes {
				result.lost = append(result.lost, l.changeUnderLoad(config))
				l.nodesTakePods()
			}
			l.nothingIsForbidden()
			result.removed = l.remove()
			l.agentsAreGone()
			result.passed = true
		})
	}
}

// changeUnderLoad changes the network while pods talk, until all nodes have the new one and all is
// well. It checks what is lost in each direction and IP family, and returns the worst of them.
func (l *landscape) changeUnderLoad(config string) standalone.Report {
	l.t.Helper()
	servers, err := l.shoot.Servers(l.t.Context(), "node-1", "node-2")
	l.Expect(err).NotTo(HaveOccurred())
	load, err := l.shoot.Send(l.t.Context(), servers)
	l.Expect(err).NotTo(HaveOccurred())
	daemonSet := "daemonset/" + map[string]string{"calico": "calico-node", "cilium": "cilium"}[l.network.typ()]
	generation := func() string {
		return l.must("-n", "kube-system", "get", daemonSet, "-o", "jsonpath={.metadata.generation}")
	}
	former := generation()
	l.change(config)
	l.Eventually(generation).ShouldNot(Equal(former), daemonSet+" is rolled out")
	l.must("-n", "kube-system", "rollout", "status", daemonSet, "--timeout="+patience.String())
	l.becomesWell()
	reports, err := load.End(l.t.Context())
	l.Expect(err).NotTo(HaveOccurred())
	for _, is := range reports {
		l.t.Log(is)
		l.Expect(is.UDP.Sent).To(BeNumerically(">", 1000), "%+v", is)
		l.Expect(is.UDP.Lost).To(BeNumerically("<=", dropped), "%+v", is)
		l.Expect(is.HTTP.Sent).To(BeNumerically(">", 100), "%+v", is)
		l.Expect(is.HTTP.Lost).To(BeZero(), "%+v", is)
		l.Expect(is.Kept.Sent).To(BeNumerically(">", 100), "%+v", is)
		l.Expect(is.Kept.Lost).To(BeZero(), "%+v", is)
	}
	return slices.MaxFunc(reports, func(a, b standalone.Report) int { return a.UDP.Lost - b.UDP.Lost })
}

// autoscalersAct waits until they have written what follows from two nodes, and all is rolled out.
func (l *landscape) autoscalersAct() {
	l.t.Helper()
	for _, each := range []struct{ workload, path, wanted string }{
		{"deployment/calico-typha-deploy", "{.spec.replicas}", "2"},
		{"deployment/calico-typha-deploy", "{.spec.template.spec.containers[*].resources.requests.cpu}", "320m"},
		{"deployment/calico-typha-deploy", "{.spec.template.spec.containers[*].resources.requests.memory}", "250Mi"},
		{"daemonset/calico-node", `{.spec.template.spec.containers[?(@.name=="calico-node")].resources.requests.memory}`, "100Mi"},
	} {
		l.Eventually(func(g Gomega) {
			is, err := resource.ParseQuantity(l.must("-n", "kube-system", "get", each.workload, "-o", "jsonpath="+each.path))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(is.Cmp(resource.MustParse(each.wanted))).To(BeZero(), "%s of %s is %s, not %s", each.path, each.workload, &is, each.wanted)
		}).Should(Succeed())
		l.must("-n", "kube-system", "rollout", "status", each.workload, "--timeout="+patience.String())
	}
	l.becomesWell()
}

// nodesTakePods checks that no node is left with what a calico-node that has ended told of it.
func (l *landscape) nodesTakePods() {
	l.t.Helper()
	l.Eventually(func() string {
		return l.must("get", "nodes", "-o", `jsonpath={range .items[*]}{.status.conditions[?(@.type=="NetworkUnavailable")].status}{.spec.taints}{end}`)
	}).ShouldNot(Or(ContainSubstring("True"), ContainSubstring("network-unavailable")), "NetworkUnavailable, and the taint")
}

// agentsAreGone checks that the deletion of the network left no pod of it, although the nodes
// stay.
func (l *landscape) agentsAreGone() {
	l.t.Helper()
	l.Eventually(func() string {
		return l.must("-n", "kube-system", "get", "pods", "-o", "name")
	}).ShouldNot(Or(ContainSubstring("calico"), ContainSubstring("cilium"), ContainSubstring("trellis-probe")))
}

// result is a row of the table that is printed at the end.
type result struct {
	t       *testing.T
	name    string
	reason  string
	passed  bool
	well    time.Duration
	lost    []standalone.Report
	removed time.Duration
}

var table struct {
	sync.Mutex
	rows []*result
}

func begin(t *testing.T, name string) *result {
	row := &result{t: t, name: name}
	table.Lock()
	defer table.Unlock()
	table.rows = append(table.rows, row)
	return row
}

// skip ends the test, with a reason that the table has, too.
func (r *result) skip(reason string) {
	r.reason = reason
	r.t.Skip(reason)
}

func printTable() {
	if len(table.rows) == 0 {
		return
	}
	out := tabwriter.NewWriter(os.Stderr, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "VARIANT\tRESULT\tWELL AFTER\tLOST IN THE WORSE DIRECTION, IN EACH CHANGE\tDELETED IN")
	for _, row := range table.rows {
		outcome, lost := "failed", make([]string, len(row.lost))
		switch {
		case row.passed:
			outcome = "passed"
		case row.reason != "":
			outcome = "left out: " + row.reason
		}
		for i, each := range row.lost {
			lost[i] = fmt.Sprintf("%d of %d datagrams, %d of %d requests, %d of %d on a kept connection",
				each.UDP.Lost, each.UDP.Sent, each.HTTP.Lost, each.HTTP.Sent, each.Kept.Lost, each.Kept.Sent)
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", row.name, outcome, row.well.Round(time.Second), strings.Join(lost, "; "), row.removed.Round(time.Second))
	}
	out.Flush()
}

// needsEBPF ends the test where nodes cannot have eBPF's programs of their own: these are attached
// to cgroups of version 2, which calico-node mounts if the machine uses version 1.
func (r *result) needsEBPF() {
	r.t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || !strings.Contains(string(mounts), " - cgroup2 ") {
		r.skip("no cgroups of version 2 are mounted on this machine")
	}
}
