// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/built"
)

var stub, resolvConf = built.Stub, built.ResolvConf

// run runs the script of a container with nothing but these tools.
func run(t *testing.T, container string, tools map[string]string, env ...string) built.Ran {
	t.Helper()
	return built.Run(t, build(t, everywhere, everyFact...).container(container).Command, tools, env...)
}

// system are tools of the machine that the tests run on, by which scripts reach it.
func system(t *testing.T, names ...string) map[string]string {
	t.Helper()
	tools := map[string]string{}
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		tools[name] = "#!/bin/sh\nexec " + path + ` "$@"` + "\n"
	}
	return tools
}

func TestTheNodeTakesWhatComesInElsewhere(t *testing.T) {
	g := NewWithT(t)
	etc := t.TempDir()
	for range 2 {
		g.Expect(run(t, "disable-rp-filter", system(t, "mkdir"), "HOST_ETC="+etc).Err).NotTo(HaveOccurred())
	}
	raw, err := os.ReadFile(filepath.Join(etc, "sysctl.d", "99-cilium-rp-filter.conf"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(raw)).To(Equal("net.ipv4.conf.all.rp_filter=0\n"))
}

func TestToolsRunOnTheHostAndAreTakenAway(t *testing.T) {
	for _, test := range []struct{ container, tool, call string }{
		{"mount-cgroup", "cilium-mount", "nsenter --cgroup=/hostproc/1/ns/cgroup --mount=/hostproc/1/ns/mnt /opt/cni/bin/cilium-mount /run/cilium/cgroupv2"},
		{"apply-sysctl-overwrites", "cilium-sysctlfix", "nsenter --mount=/hostproc/1/ns/mnt /opt/cni/bin/cilium-sysctlfix"},
	} {
		for name, result := range map[string]string{"they succeed": "exit 0", "they fail": "exit 3"} {
			t.Run(test.container+", "+name, func(t *testing.T) {
				g := NewWithT(t)
				bin := t.TempDir()
				tools := system(t, "rm")
				tools["cp"] = stub(`: >"$2"`)
				tools["nsenter"] = stub(`[ -e "` + bin + "/" + test.tool + `" ] || exit 9; ` + result)
				got := run(t, test.container, tools, "HOST_BIN="+bin, "BIN_PATH=/opt/cni/bin", "CGROUP_ROOT=/run/cilium/cgroupv2")
				g.Expect(got.Calls).To(Equal([]string{"cp /usr/bin/" + test.tool + " " + bin + "/" + test.tool, test.call}))
				g.Expect(os.ReadDir(bin)).To(BeEmpty())
				if result == "exit 0" {
					g.Expect(got.Err).NotTo(HaveOccurred())
				} else {
					g.Expect(got.Err).To(MatchError("exit status 3"))
				}
			})
		}
	}
}

func TestTheFileSystemOfProgramsIsMountedOnce(t *testing.T) {
	const mounted = "bpf on /sys/fs/bpf type bpf (rw,nosuid,nodev,noexec,relatime,mode=700)"
	for name, test := range map[string]struct{ table, calls string }{
		"it is":     {table: mounted, calls: "mount "},
		"it is not": {table: "proc on /proc type proc (rw)", calls: "mount |mount -t bpf bpf /sys/fs/bpf"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			tools := system(t, "grep")
			tools["mount"] = stub(`[ $# -gt 0 ] || echo "` + test.table + `"`)
			got := run(t, "mount-bpf-fs", tools)
			g.Expect(got.Err).NotTo(HaveOccurred())
			g.Expect(strings.Join(got.Calls, "|")).To(Equal(test.calls))
		})
	}
}

// rules are the commands for the rules of one family: what there is, and how writing
// them ends.
func rules(family, there, result string) map[string]string {
	return map[string]string{
		family + "-save":    stub("printf '%s\\n' " + there),
		family + "-restore": stub(`while read -r line; do printf '%s\n' "` + family + ` $line" >>"$CALLS"; done; ` + result),
	}
}

func with(several ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, each := range several {
		for name, body := range each {
			all[name] = body
		}
	}
	return all
}

const (
	ofKubeProxy = `'*nat' ':KUBE-SERVICES - [0:0]' ':CILIUM_POST_nat - [0:0]' '-A POSTROUTING -j KUBE-POSTROUTING' '-A CILIUM_POST_nat -s \\x' COMMIT`
	ofOthers    = `'*nat' ':CILIUM_POST_nat - [0:0]' COMMIT`
)

func TestRulesOfKubeProxyAreRemovedAndNoOthers(t *testing.T) {
	g := NewWithT(t)
	tools := with(system(t, "grep"), rules("iptables", ofKubeProxy, ""), rules("ip6tables", ofOthers, ""))
	got := run(t, "cilium-kube-proxy-clean-up", tools)
	g.Expect(got.Err).NotTo(HaveOccurred())
	g.Expect(got.Calls).To(Equal([]string{
		"iptables-save ", "iptables-restore --verbose",
		"iptables *nat", "iptables :CILIUM_POST_nat - [0:0]", `iptables -A CILIUM_POST_nat -s \\x`, "iptables COMMIT",
		"ip6tables-save ",
	}), "what has none is not written")
}

func TestRulesForIPv6ThatCannotBeCleanedAreNoError(t *testing.T) {
	g := NewWithT(t)
	tools := with(system(t, "grep"), rules("iptables", ofKubeProxy, ""), rules("ip6tables", ofKubeProxy, "exit 3"))
	got := run(t, "cilium-kube-proxy-clean-up", tools)
	g.Expect(got.Err).NotTo(HaveOccurred())
	g.Expect(got.Output).To(ContainSubstring("rules for IPv6 are left as they are"))
	delete(tools, "ip6tables-save")
	g.Expect(run(t, "cilium-kube-proxy-clean-up", tools).Err).NotTo(HaveOccurred())
}

func TestANodeWhoseRulesCannotBeReadOrWrittenWaits(t *testing.T) {
	g := NewWithT(t)
	tools := with(system(t, "grep"), rules("iptables", ofKubeProxy, "exit 3"), rules("ip6tables", ofOthers, ""))
	g.Expect(run(t, "cilium-kube-proxy-clean-up", tools).Err).To(MatchError("exit status 3"))
	tools["iptables-save"] = stub("printf '%s\\n' '*nat'; exit 4")
	got := run(t, "cilium-kube-proxy-clean-up", tools)
	g.Expect(got.Err).To(MatchError("exit status 4"))
	g.Expect(got.Calls).To(Equal([]string{"iptables-save "}), "rules that were cut off are not written")
}

// masquerading are the tools of the containers that keep rules. there reports whether
// those that are asked for are there.
func masquerading(there string) map[string]string {
	return map[string]string{
		"sleep":    built.UntilSecondPause,
		"iptables": stub(`case " $* " in *" -C "*) ` + there + ` ;; esac`),
	}
}

const (
	thereIsNone = "exit 1"
	thereIsOne  = "exit 0"
	comment     = " -m comment --comment cilium masquerade non-cluster -j MASQUERADE"
)

func TestRequestsToNameServersAreMasqueraded(t *testing.T) {
	servers := resolvConf(t, "search example.com\n# nameserver 9.9.9.9\nnameserver 168.63.129.16\nnameserver 2001:db8::53\noptions ndots:5\nnameserver 10.0.0.1")
	const first = "-s 100.64.0.0/12 -d 168.63.129.16/32 ! -o cilium_+" + comment
	const second = "-s 100.64.0.0/12 -d 10.0.0.1/32 ! -o cilium_+" + comment
	const chain = " CILIUM_POST_nat "
	for name, test := range map[string]struct {
		there string
		calls []string
	}{
		"they are not yet": {thereIsNone, []string{"sleep 15",
			"iptables -w -t nat -C" + chain + first, "iptables -w -t nat -I" + chain + "1 " + first,
			"iptables -w -t nat -C" + chain + second, "iptables -w -t nat -I" + chain + "1 " + second, "sleep 45"}},
		"they are": {thereIsOne, []string{"sleep 15",
			"iptables -w -t nat -C" + chain + first, "iptables -w -t nat -C" + chain + second, "sleep 45"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := run(t, "add-snat-rule-to-upstream-dns", masquerading(test.there), "POD_CIDR=100.64.0.0/12", servers)
			g.Expect(got.Err).NotTo(HaveOccurred(), got.Output)
			g.Expect(got.Calls).To(Equal(test.calls))
			g.Expect(got.Output).To(BeEmpty())
		})
	}
}

func TestRequestsToTheWorldAreMasqueraded(t *testing.T) {
	const chain = " CILIUM_POST_nat "
	both := func(rule string) []string {
		return []string{"iptables -w -t nat -C" + chain + rule, "iptables -w -t nat -A" + chain + rule}
	}
	const (
		toPods  = "-s 100.64.0.0/12 -d 100.64.0.0/12 -j RETURN"
		toNodes = "-s 100.64.0.0/12 -d 10.250.0.0/16 -j RETURN"
		toAll   = "-s 100.64.0.0/12 -d 0.0.0.0/0 ! -o cilium_+" + comment
	)
	for _, test := range []struct {
		name, nodes string
		rules       []string
	}{
		{"pods and nodes see pods as they are", "10.250.0.0/16", []string{toPods, toNodes, toAll}},
		{"the nodes' range is not known", "", []string{toPods, toAll}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			want := []string{"sleep 15"}
			for _, rule := range test.rules {
				want = append(want, both(rule)...)
			}
			got := run(t, "add-snat-rule-to-outside-world", masquerading(thereIsNone), "POD_CIDR=100.64.0.0/12", "NODE_CIDR="+test.nodes)
			g.Expect(got.Err).NotTo(HaveOccurred(), got.Output)
			g.Expect(got.Calls).To(Equal(append(want, "sleep 45")))
		})
	}
}

// The agent creates the chain when it starts. A rule that came before the agent's exceptions
// would override them.
func TestRulesWaitForTheAgent(t *testing.T) {
	servers := resolvConf(t, "nameserver 10.0.0.1\n")
	for container, calls := range map[string]int{"add-snat-rule-to-upstream-dns": 4, "add-snat-rule-to-outside-world": 4} {
		t.Run(container, func(t *testing.T) {
			g := NewWithT(t)
			tools := masquerading(thereIsNone)
			tools["iptables"] = stub("exit 1")
			got := run(t, container, tools, "POD_CIDR=100.64.0.0/12", "NODE_CIDR=10.250.0.0/16", servers)
			g.Expect(got.Err).NotTo(HaveOccurred(), got.Output)
			g.Expect(got.Calls).To(HaveLen(calls), "one rule is tried, and no other after it")
			g.Expect(got.Output).NotTo(BeEmpty())
		})
	}
}

func TestThereAreNoRulesForIPv6(t *testing.T) {
	servers := resolvConf(t, "nameserver 10.0.0.1\nnameserver 2001:db8::53\n")
	for _, container := range []string{"add-snat-rule-to-upstream-dns", "add-snat-rule-to-outside-world"} {
		g := NewWithT(t)
		got := run(t, container, masquerading(thereIsNone), "POD_CIDR=2001:db8:1::/56", "NODE_CIDR=2001:db8:2::/56", servers)
		g.Expect(got.Err).NotTo(HaveOccurred(), got.Output)
		g.Expect(got.Calls).To(Equal([]string{"sleep 15", "sleep 45"}), container)
	}
}
