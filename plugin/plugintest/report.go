// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"slices"
)

// mostProblems is how many problems with one promise a test author wants to read.
const mostProblems = 20

// report is what was found about one promise.
type report struct {
	problems []string
	// known are problems that were noted, without where.
	known map[string]bool
	// skipped is why the promise could not be judged; empty if it was.
	skipped string
}

// breach notes a problem: what is wrong, and what to do.
func (r *report) breach(format string, args ...any) { r.breachIn("", format, args...) }

// breachIn notes a problem that was seen somewhere, unless it was seen elsewhere.
func (r *report) breachIn(where, format string, args ...any) {
	problem := fmt.Sprintf(format, args...)
	if r.known[problem] {
		return
	}
	if r.known == nil {
		r.known = map[string]bool{}
	}
	r.known[problem] = true
	if where != "" {
		problem += "\n(seen in " + where + ")"
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
