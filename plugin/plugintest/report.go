// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/trellis-network/trellis/plugin"
)

// mostProblems is how many problems of one check are printed.
const mostProblems = 20

// report is what one check has found.
type report struct {
	problems []string
	// known are problems that were noted, without where.
	known sets.Set[string]
	// where is what the check looks at.
	where string
	// skipped is why the check could not be made; empty if it was.
	skipped string
}

// reportOn makes a check. A panic of the plugin ends it and is a problem.
func reportOn(s *suite, c check) *report {
	found := &report{known: sets.New[string]()}
	err := plugin.Guard(s.plugin.Type, func() error {
		c.run(s, found)
		return nil
	})
	if err != nil {
		found.breach("%v", err)
	}
	return found
}

// breach notes a problem: what is wrong, and what to do. It notes it only once, wherever
// else it is seen.
func (r *report) breach(format string, args ...any) {
	problem := fmt.Sprintf(format, args...)
	if r.known.Has(problem) {
		return
	}
	r.known.Insert(problem)
	if r.where != "" {
		problem += "\n(seen in " + r.where + ")"
	}
	r.problems = append(r.problems, problem)
}

// list returns the problems, if they are not too many.
func (r *report) list() []string {
	more := len(r.problems) - mostProblems
	if more <= 0 {
		return r.problems
	}
	return append(slices.Clone(r.problems[:mostProblems]), fmt.Sprintf("and %d more", more))
}
