// SPDX-License-Identifier: Apache-2.0

package options

import (
	"os"
	"strconv"
	"strings"

	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
)

// MaxNodes bounds the simulated nodes of one shoot.
const MaxNodes = 1000

// real is the prefix of a number of real nodes.
const real = "real:"

// Nodes are the nodes of a shoot.
type Nodes struct {
	Count int
	// Real reports whether they are real ones. Otherwise they are simulated.
	Real bool
}

// String returns the nodes as the command line has them: N, or real:N.
func (n Nodes) String() string {
	if n.Real {
		return real + strconv.Itoa(n.Count)
	}
	return strconv.Itoa(n.Count)
}

// parseNodes reads N or real:N. Its error begins with flag, which is the flag with its value.
func parseNodes(text, flag string) (Nodes, error) {
	number, isReal := strings.CutPrefix(text, real)
	count, err := strconv.Atoi(number)
	nodes := Nodes{Count: count, Real: isReal}
	switch {
	case err != nil:
		return nodes, Invalidf("%s: write the number of simulated nodes, or %sN for N real ones", flag, real)
	case !isReal && (count < 0 || count > MaxNodes):
		return nodes, Invalidf("%s: a shoot has from 0 to %d nodes", flag, MaxNodes)
	case isReal && (count < 1 || count > plan.MaxNodes):
		return nodes, Invalidf("%s: a shoot has from 1 to %d real nodes", flag, plan.MaxNodes)
	case isReal && os.Geteuid() != 0:
		return nodes, Invalidf("%s: %s; run this as root, or use simulated nodes: write %d in place of %s", flag, NeedRoot, count, nodes)
	}
	return nodes, nil
}
