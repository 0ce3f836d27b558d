// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/pmezard/go-difflib/difflib"
)

const (
	// maxDiffed is the number of lines up to which objects are compared line by line.
	maxDiffed = 20_000
	// contextLines is the number of equal lines around those that differ.
	contextLines = 3
)

// unified returns the unified diff of lines, without file names.
func unified(before, after []string) string {
	if len(before) > maxDiffed || len(after) > maxDiffed {
		return fmt.Sprintf("@@ %d lines before, %d after: too many to compare line by line @@\n", len(before), len(after))
	}
	text, _ := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: before, B: after, Context: contextLines}) // fails only if writing does, and this is memory
	return text
}

// printable escapes the characters of a line with which its author could control the
// user's terminal. It keeps tabs and the line's end.
func printable(line string) string {
	var out strings.Builder
	for _, r := range line {
		if r == '\t' || r == '\n' || unicode.IsPrint(r) {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, "\\u%04x", r)
		}
	}
	return out.String()
}
