// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"testing"
	"time"

	"github.com/trellis-network/trellis/test/sandbox"
)

func TestWhatFailsBetweenTwoNodesIsKnown(t *testing.T) {
	sideBySide(t, 12*time.Minute)
	l := newLandscape(t, 2)
	l.talks()
	name, other := l.nodes()
	victim := l.node(name)
	on := func(faults sandbox.Faults) func() error {
		return func() error { return victim.Fault(t.Context(), faults) }
	}
	heal := func() error { return victim.Heal(t.Context()) }
	const failed = "ConnectivityTestsFailed: "
	cutOff := failed + "Node " + name + ": the tests pods and nodes fail from and to other nodes\\."
	l.suffers(fault{
		name: "link of a node down", breaks: on(sandbox.Faults{LinkDown: true}), mends: heal,
		verdict: "False dns !nodes !pods services", within: nodeFails, message: cutOff,
	})
	l.suffers(fault{
		name: "what a node sends is blocked", breaks: on(sandbox.Faults{Block: "out"}), mends: heal,
		verdict: "False dns !nodes !pods services", within: nodeFails, message: cutOff,
	})
	// The probes on both sides find it, at different times.
	l.suffers(fault{
		name: "MTU of a wire 1200", breaks: on(sandbox.Faults{MTU: 1200}), mends: heal,
		verdict: "False dns nodes !pods services", within: pairFails,
		message: failed + "(Nodes node-1 and node-2: the test pods fails between them|Node node-1: the test pods fails from there to the node node-2|Node node-2: the test pods fails from there to the node node-1), .*MTU.*",
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
		verdict: "False !dns !nodes !pods services", within: pairFails, soon: "!nodes !pods",
		message: failed + "Nodes node-1 and node-2: the tests pods and nodes fail between them\\. Node " + name + ": the test dns fails there, .*",
	})
}
