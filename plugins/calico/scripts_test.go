// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/built"
)

var stub = built.Stub

// tryScript runs the script of a container, which may fail.
var tryScript = built.Run

// runScript runs the script of a container and returns the calls of its tools.
func runScript(t *testing.T, command []string, tools map[string]string, env ...string) []string {
	t.Helper()
	ran := tryScript(t, command, tools, env...)
	if ran.Err != nil || len(ran.Calls) == 0 {
		t.Fatalf("%v after %d calls: %s", ran.Err, len(ran.Calls), ran.Output)
	}
	return ran.Calls
}

// tables are the iptables commands. hint names the one in whose mangle table the
// kubelet has left its chain; rules says what checking for a rule comes to.
func tables(hint, rules string) map[string]string {
	tools := map[string]string{}
	for _, name := range []string{"iptables-nft", "ip6tables-nft", "iptables-legacy", "ip6tables-legacy"} {
		hinted := "exit 1"
		if name == hint {
			hinted = "exit 0"
		}
		tools[name] = stub(`case " $* " in *" mangle "*) ` + hinted + ` ;; *" -C "*) ` + rules + ` ;; esac`)
	}
	return tools
}

const (
	ruleIsThere   = "exit 0"
	ruleIsMissing = "exit 1"
)

func withoutHints(calls []string) []string {
	var list []string
	for _, call := range calls {
		if !strings.Contains(call, "mangle") {
			list = append(list, call)
		}
	}
	return list
}

func TestMTUIssuesAreLoggedInTheNodesOwnTables(t *testing.T) {
	command := build(t, "").container("log-mtu-issues").Command
	for hint, suffix := range map[string]string{"iptables-nft": "-nft", "ip6tables-nft": "-nft", "": "-legacy"} {
		t.Run("hint "+hint, func(t *testing.T) {
			g := NewWithT(t)
			const v4 = "OUTPUT 1 -p icmp -m icmp --icmp-type fragmentation-needed -m comment --comment gardener log mtu problems for ipv4 -j LOG --log-prefix PACKET-TOO-BIG"
			const v6 = "OUTPUT 1 -p icmpv6 -m icmp6 --icmpv6-type packet-too-big -m comment --comment gardener log mtu problems for ipv6 -j LOG --log-prefix PACKET-TOO-BIG"
			calls := withoutHints(runScript(t, command, tables(hint, ruleIsMissing)))
			g.Expect(calls).To(HaveLen(4))
			g.Expect(calls[1]).To(HavePrefix("iptables" + suffix + " -w -t filter -I " + v4))
			g.Expect(calls[3]).To(HavePrefix("ip6tables" + suffix + " -w -t filter -I " + v6))
		})
	}
}

func TestRulesThatAreThereStayAsTheyAre(t *testing.T) {
	g := NewWithT(t)
	calls := runScript(t, build(t, "").container("log-mtu-issues").Command, tables("", ruleIsThere))
	g.Expect(strings.Join(calls, "\n")).NotTo(ContainSubstring(" -I "))
}

func TestANodeThatCannotLogStillGetsItsNetwork(t *testing.T) {
	runScript(t, build(t, "").container("log-mtu-issues").Command, map[string]string{
		"iptables-legacy": stub("exit 3"), "ip6tables-legacy": stub("exit 3"), // and no iptables-nft at all
	})
}

// masqueraded are the calls of the container that keeps rules, until its second pause.
func masqueraded(t *testing.T, tools map[string]string, podCIDR, resolvConf string) []string {
	t.Helper()
	tools["sleep"] = built.UntilSecondPause
	command := build(t, "overlay: {enabled: false}").container("add-snat-rule-to-upstream-dns").Command
	return withoutHints(runScript(t, command, tools, "POD_CIDR="+podCIDR, built.ResolvConf(t, resolvConf)))
}

func TestNameServersOfThePodsFamilyAreMasqueraded(t *testing.T) {
	g := NewWithT(t)
	calls := masqueraded(t, tables("iptables-nft", ruleIsMissing), podCIDR,
		"search example.com\n# nameserver 9.9.9.9\nnameserver 168.63.129.16\nnameserver 2001:db8::53\noptions ndots:5\n")
	const rule = "-s 100.64.0.0/12 -d 168.63.129.16/32 ! -o cali+ -m comment --comment calico masquerade non-cluster -j MASQUERADE"
	g.Expect(calls).To(Equal([]string{
		"sleep 15",
		"iptables-nft -w -t nat -C POSTROUTING " + rule,
		"iptables-nft -w -t nat -I POSTROUTING 1 " + rule,
		"sleep 60",
	}))
}

func TestIPv6NameServersAreMasqueradedForIPv6Pods(t *testing.T) {
	g := NewWithT(t)
	calls := masqueraded(t, tables("", ruleIsThere), "2001:db8::/56", "nameserver 10.0.0.1\nnameserver fe80::1%eth0")
	g.Expect(calls).To(HaveLen(3))
	g.Expect(calls[1]).To(HavePrefix("ip6tables-legacy -w -t nat -C POSTROUTING -s 2001:db8::/56 -d fe80::1/128 "))
}
