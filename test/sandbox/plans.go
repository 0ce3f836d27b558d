// SPDX-License-Identifier: Apache-2.0

package sandbox

import "strconv"

// Plan is what runs on real nodes at the same time: sandboxes, and the shoots and real nodes that all
// of them have together.
type Plan struct{ Sandboxes, Shoots, RealNodes int }

// Plans are those of the targets of make, by name. Those of e2e have the sandbox of test/flannel, without
// real nodes, beside those of test/realnodes. That of e2e is the largest that two tests of the latter can
// have, as many as run side by side: one has three nodes, the other two. Where the machine bears
// e2e-fast, four do.
var Plans = map[string]Plan{
	"demo":     {Sandboxes: 1, Shoots: 2, RealNodes: 2},
	"e2e":      {Sandboxes: 1 + 2, Shoots: 1 + 2, RealNodes: 5},
	"e2e-fast": {Sandboxes: 1 + 4, Shoots: 1 + 4, RealNodes: 9},
}

func (p Plan) args() []string {
	return []string{"--sandboxes", strconv.Itoa(p.Sandboxes), "--shoots", strconv.Itoa(p.Shoots), "--real-nodes", strconv.Itoa(p.RealNodes)}
}
