// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/sandbox"
)

func TestWhatFailsBetweenTwoNodesIsKnown(t *testing.T) {
	t.Parallel()
	l := newLandscape(t, 2)
	l.talks()
	name, other := l.nodes()
	victim := l.node(name)
	on := func(faults sandbox.Faults) func() error {
		return func() error { return victim.Fault(t.Context(), faults) }
	}
	heal := func() error { return victim.Heal(t.Context()) }
	l.suffers(fault{
		name: "link of a node down", breaks: on(sandbox.Faults{LinkDown: true}), mends: heal,
		verdict: Equal("False dns !nodes !pods services"), within: nodeFails, message: name,
	})
	l.suffers(fault{
		name: "what a node sends is blocked", breaks: on(sandbox.Faults{Block: "out"}), mends: heal,
		verdict: Equal("False dns !nodes !pods services"), within: nodeFails, message: name,
	})
	l.suffers(fault{
		name: "MTU of a wire 1200", breaks: on(sandbox.Faults{MTU: 1200}), mends: heal,
		verdict: Equal("False dns nodes !pods services"), within: pairFails, message: "MTU",
	})
	// Both sides still reach the API server, and each is cut off from the other. On the one without
	// CoreDNS names are not found.
	l.suffers(fault{
		name: "partition", breaks: func() error { return victim.Partition(t.Context()) },
		mends: func() error {
			if err := heal(); err != nil {
				return err
			}
			return l.node(other).Heal(t.Context())
		},
		verdict: And(HavePrefix("False"), ContainSubstring("!nodes !pods")), within: nodeFails, message: name + "|" + other,
	})
	scale := func(replicas string) func() error {
		return func() error {
			l.kubectl("-n", "kube-system", "scale", "deployment/coredns", "--replicas="+replicas)
			return nil
		}
	}
	l.suffers(fault{
		name: "CoreDNS gone", breaks: scale("0"), mends: scale("1"),
		verdict: Equal("False !dns nodes pods services"), within: pairFails, message: "dns",
	})
}
