// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/test/sandbox"
	"github.com/trellis-network/trellis/test/standalone"
)

const everyTest = "dns nodes pods services"

// Two nodes with both IP families, each in a subnet of its own, so that packets between them go
// through VXLAN and a router.
func TestEachIPFamilyHasItsVerdict(t *testing.T) {
	sideBySide(t, 7*time.Minute)
	l := newLandscapeOf(t, sandbox.RealNodes{Nodes: 2, Subnets: 2, Families: "IPv4,IPv6"})
	l.talks()
	l.Expect(l.health().Families).To(Equal(map[extensionsv1alpha1.IPFamily]string{"IPv4": everyTest, "IPv6": everyTest}))
	l.Expect(l.routes("node-1", "-4")).To(ContainSubstring(" dev flannel.1 "))
	l.Expect(l.routes("node-1", "-6")).To(ContainSubstring(" dev flannel-v6.1 "))

	name, _ := l.nodes()
	nft := func(command string) func() error {
		return func() error {
			_, err := l.node(name).Exec(t.Context(), "nft", command)
			return err
		}
	}
	l.suffersIn(familiesFault{
		name: "IPv6 that a node sends is blocked",
		// Neighbour discovery passes, as it does with the sandbox's own faults.
		breaks: nft("add table ip6 broken; add chain ip6 broken out { type filter hook postrouting priority 0; }; " +
			"add rule ip6 broken out oifname eth0 meta l4proto != icmpv6 drop"),
		mends: nft("delete table ip6 broken"),
		ipv4:  Equal(everyTest), ipv6: ContainSubstring("!nodes !pods"), within: nodeFails,
		message: And(ContainSubstring("pods over IPv6"), Not(ContainSubstring("over IPv4"))),
	})

	flannel := l.awaitRollout(0)
	backend := func(name string) func() error {
		return func() error {
			err := l.shoot.Edit(t.Context(), withBackend(name))
			flannel = l.awaitRollout(flannel)
			return err
		}
	}
	// host-gw needs all nodes in one subnet. The change back mends the network.
	podsFail := Equal("!dns nodes !pods services")
	l.suffersIn(familiesFault{
		name: "host-gw between two subnets", breaks: backend("host-gw"), mends: backend("vxlan"),
		ipv4: podsFail, ipv6: podsFail, within: pairFails,
		message: And(ContainSubstring("pods over IPv4"), ContainSubstring("pods over IPv6"), MatchRegexp("node-[12]")),
		shows: func() {
			l.Eventually(l.failingPairs).WithTimeout(pairFails).Should(ContainElements(
				"pods over IPv4: node-1 to node-2", "pods over IPv4: node-2 to node-1",
				"pods over IPv6: node-1 to node-2", "pods over IPv6: node-2 to node-1"))
			for _, family := range []string{"-4", "-6"} {
				l.Expect(l.routes("node-1", family)).NotTo(ContainSubstring("flannel"), "a route of the former backend")
			}
		},
	})
}

// familiesFault is something that breaks, and what the status must tell of it for each family.
type familiesFault struct {
	name          string
	breaks, mends func() error
	ipv4, ipv6    types.GomegaMatcher
	within        time.Duration
	// message is what the condition tells users, after its reason.
	message types.GomegaMatcher
	// shows, if stated, expects what else can be seen before the repair.
	shows func()
}

// suffersIn breaks something, expects the results of the families in time, mends it, and expects
// that all is well again in time, with few writes of the status. What it prints counts from the edit
// of a Shoot, and what it expects from when that is rolled out.
func (l *landscape) suffersIn(f familiesFault) {
	l.t.Helper()
	l.restsBefore(f.within)
	var began, mended time.Time
	var after time.Duration
	undisturbed(func() {
		began = time.Now()
		l.Expect(f.breaks()).To(Succeed())
		l.Eventually(func() map[extensionsv1alpha1.IPFamily]string { return l.health().Families }).WithTimeout(f.within).Should(And(
			HaveKeyWithValue(extensionsv1alpha1.IPv4, f.ipv4), HaveKeyWithValue(extensionsv1alpha1.IPv6, f.ipv6)), l.evidence)
		after = time.Since(began)
	})
	health, message := l.health(), l.message()
	l.Expect(health.Verdict).To(HavePrefix("False"))
	l.Expect(message).To(f.message)
	if f.shows != nil {
		f.shows()
	}
	l.rests(beforeRepair)
	undisturbed(func() {
		mended = time.Now()
		l.Expect(f.mends()).To(Succeed())
		l.becomes(Equal(standalone.AllWell), repaired)
	})
	again := time.Since(mended)
	verdict := fmt.Sprintf("False, IPv4: %s, IPv6: %s", health.Families[extensionsv1alpha1.IPv4], health.Families[extensionsv1alpha1.IPv6])
	faults.add(row{f.name, verdict, after, again, len(l.writes.since(began))})
	l.expectFewWrites(began)
	l.t.Logf("%s: %s", f.name, message)
}

// failingPairs are those that the summary names, as "pods over IPv4: node-1 to node-2".
func (l *landscape) failingPairs() (pairs []string) {
	summary := l.health().Summary
	if summary == nil {
		return nil
	}
	for _, worst := range summary.Worst {
		pairs = append(pairs, fmt.Sprintf("%s over %s: %s to %s", worst.Test, worst.Family, worst.Node, worst.Target))
	}
	return pairs
}
