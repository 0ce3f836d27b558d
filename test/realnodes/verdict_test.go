// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/sandbox"
)

// The limits are those that docs/design.md states under "Connectivity".
const (
	nodeFails = 60 * time.Second
	pairFails = 90 * time.Second
	repaired  = 60 * time.Second
	allWell   = "True dns nodes pods services"
)

func TestTheStatusKnowsWhetherPodsTalk(t *testing.T) {
	l := newLandscape(t)
	l.becomes("the Shoot is applied", allWell, 2*time.Minute)
	fmt.Fprintf(os.Stderr, "nodes with a network, pods that talk, and a verdict: %.1f s after the Shoot was applied\n", time.Since(l.began).Seconds())

	l.noLongerNew()
	node := l.box.Node(l.box.Shoots[0], "node-2")
	faults := []struct {
		name   string
		fault  sandbox.Faults
		within time.Duration
		// broken is what fails; what else is known is not said.
		broken string
	}{
		{"link down", sandbox.Faults{LinkDown: true}, nodeFails, "!pods"},
		{"what the node sends is blocked", sandbox.Faults{Block: "out"}, nodeFails, "!pods"},
		{"MTU of 1200", sandbox.Faults{MTU: 1200}, pairFails, "!pods"},
	}
	for _, each := range faults {
		l.Expect(node.Fault(t.Context(), each.fault)).To(Succeed())
		l.becomes(each.name, And(HavePrefix("False"), ContainSubstring(each.broken)), each.within)
		l.Expect(node.Heal(t.Context())).To(Succeed())
		l.becomes("  repaired", allWell, repaired)
	}

	l.Expect(node.Partition(t.Context())).To(Succeed())
	l.becomes("partition", And(HavePrefix("False"), ContainSubstring("!pods")), nodeFails)
	l.Expect(node.Heal(t.Context())).To(Succeed())
	l.Expect(l.box.Node(l.box.Shoots[0], "node-1").Heal(t.Context())).To(Succeed())
	l.becomes("  repaired", allWell, repaired)

	l.kubectl("-n", "kube-system", "scale", "deployment/coredns", "--replicas=0")
	l.becomes("CoreDNS gone", "False !dns nodes pods services", pairFails)
	l.kubectl("-n", "kube-system", "scale", "deployment/coredns", "--replicas=1")
	l.becomes("  repaired", allWell, repaired)
}

// What flanneld has told the kernel stays when it ends: packets go on.
func TestADaemonThatEndsIsNoFailureOfPods(t *testing.T) {
	l := newLandscape(t)
	l.becomes("the Shoot is applied", allWell, 2*time.Minute)
	l.kubectl("-n", "kube-system", "patch", "daemonset", "kube-flannel-ds", "--type=strategic", "-p",
		`{"spec":{"template":{"spec":{"nodeSelector":{"example.org/none":"true"}}}}}`)
	l.Eventually(l.components).ShouldNot(Equal("True"), "the condition about components tells it")
	l.Eventually(l.components).Should(Equal("True"), "Trellis puts the DaemonSet back")
	l.Expect(l.verdict()).To(Equal(allWell))
}
