// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/pmezard/go-difflib/difflib"
)

const (
	// maxDiffed is how many lines an object may have to be compared line by line.
	maxDiffed = 20_000
	// exactDiffed is up to how many lines the shortest diff is looked for. Beyond,
	// lines that occur all over are no help in finding out what belongs together.
	exactDiffed = 1_000
	// around is how many lines are shown before and after those that differ.
	around = 3
)

// unified is the unified diff of lines. The header of each part says in which field
// it is.
func unified(before, after []string) string {
	if len(before) > maxDiffed || len(after) > maxDiffed {
		return fmt.Sprintf("@@ %d lines before, %d after: too many to compare line by line @@\n", len(before), len(after))
	}
	var out strings.Builder
	write := func(mark byte, lines []string) {
		for _, line := range lines {
			out.WriteByte(mark)
			out.WriteString(printable(strings.TrimSuffix(line, "\n")))
			out.WriteByte('\n')
		}
	}
	matcher := difflib.NewMatcherWithJunk(before, after, len(after) > exactDiffed, nil)
	for _, part := range matcher.GetGroupedOpCodes(around) {
		first, last := part[0], part[len(part)-1]
		header := fmt.Sprintf("@@ -%s +%s @@", lineRange(first.I1, last.I2), lineRange(first.J1, last.J2))
		out.WriteString(strings.TrimRight(header+" "+printable(fieldOf(before, after, part)), " ") + "\n")
		for _, code := range part {
			if code.Tag == 'e' {
				write(' ', before[code.I1:code.I2])
				continue
			}
			write('-', before[code.I1:code.I2])
			write('+', after[code.J1:code.J2])
		}
	}
	return out.String()
}

// lineRange is a range of lines as unified diffs have it: they count from 1, and one
// of no lines is named by the line before it.
func lineRange(start, end int) string {
	switch end - start {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprint(start + 1)
	}
	return fmt.Sprintf("%d,%d", start+1, end-start)
}

// fieldOf is the field that the first difference of a part is in.
func fieldOf(before, after []string, part []difflib.OpCode) string {
	for _, code := range part {
		switch {
		case code.Tag == 'e' || len(before) == 0 || len(after) == 0:
		case code.I2 > code.I1:
			return fieldAround(before, code.I1)
		default:
			return fieldAround(after, code.J1)
		}
	}
	return ""
}

// maxField is how long the name of a field gets.
const maxField = 100

// fieldAround is the path of the fields that a line of YAML is in. It goes by what is
// less indented, and in lists, whose items are not indented, by their dashes.
func fieldAround(lines []string, at int) string {
	_, limit, dash := indented(lines[at])
	if dash >= 0 {
		limit = dash + 1
	}
	var path []string
	for i := at - 1; i >= 0 && limit > 0; i-- {
		text, column, dash := indented(lines[i])
		name, rest, isKey := strings.Cut(text, ":")
		if column < limit && isKey && (rest == "" || strings.HasPrefix(rest, " |")) {
			path = append(path, name)
			limit = column
		}
		if dash >= 0 && dash < limit {
			limit = dash + 1
		}
	}
	slices.Reverse(path)
	field := strings.Join(path, ".")
	if runes := []rune(field); len(runes) > maxField {
		return "…" + string(runes[len(runes)-maxField:])
	}
	return field
}

// indented takes a line of YAML apart: its text, the column in which that begins, and
// the column of the dash before it, or -1.
func indented(line string) (text string, column, dash int) {
	text = strings.TrimLeft(strings.TrimRight(line, "\n"), " ")
	column, dash = len(strings.TrimRight(line, "\n"))-len(text), -1
	if rest, isItem := strings.CutPrefix(text, "- "); isItem {
		return rest, column + len("- "), column
	}
	return text, column, dash
}

// printable keeps what others have written from confusing a terminal.
func printable(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r == '\t' || unicode.IsPrint(r) {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, "\\u%04x", r)
		}
	}
	return out.String()
}
