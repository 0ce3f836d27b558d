// SPDX-License-Identifier: Apache-2.0

package sandbox

import "strconv"

// Plan is what runs on real nodes at the same time: sandboxes, and the shoots and real nodes that all
// of them have together.
type Plan struct{ Sandboxes, Shoots, RealNodes int }

// Plans are those of the targets of make, by name. That of e2e is the largest that three tests
// of test/realnodes can have, as many as it runs side by side: one has three nodes, the others two. Where
// the machine bears e2e-fast, it runs four, which takes three quarters of the time.
var Plans = map[string]Plan{
	"demo":     {Sandboxes: 1, Shoots: 2, RealNodes: 2},
	"e2e":      {Sandboxes: 3, Shoots: 3, RealNodes: 7},
	"e2e-fast": {Sandboxes: 4, Shoots: 4, RealNodes: 9},
}

func (p Plan) args() []string {
	return []string{"--sandboxes", strconv.Itoa(p.Sandboxes), "--shoots", strconv.Itoa(p.Shoots), "--real-nodes", strconv.Itoa(p.RealNodes)}
}
