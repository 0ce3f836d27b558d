// SPDX-License-Identifier: Apache-2.0

// Package table lays rows out in columns for a terminal. It does not know what they are about,
// and escapes what would control the terminal.
package table

import (
	"strings"
	"unicode/utf8"

	"github.com/trellis-network/trellis/cli/internal/text"
)

// gap separates two columns.
const gap = "  "

// Width returns how many characters the longest line of the rows takes.
func Width(rows [][]string) int {
	total := 0
	for i, width := range widths(escaped(rows)) {
		if i > 0 {
			total += len(gap)
		}
		total += width
	}
	return total
}

// Lines returns a line for each row. The columns named in right, counted from 0, are aligned to
// the right. A line that is longer than width is cut and ends with an ellipsis; a width of 0
// means that lines may have any length.
func Lines(rows [][]string, width int, right ...int) []string {
	rows = escaped(rows)
	wide := widths(rows)
	isRight := map[int]bool{}
	for _, column := range right {
		isRight[column] = true
	}
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString(gap)
			}
			padding := strings.Repeat(" ", wide[i]-utf8.RuneCountInString(cell))
			if isRight[i] {
				cell, padding = padding+cell, ""
			}
			line.WriteString(cell + padding)
		}
		lines = append(lines, Cut(strings.TrimRight(line.String(), " "), width))
	}
	return lines
}

// Cut cuts a line to a width. A line that is cut ends with an ellipsis.
func Cut(line string, width int) string {
	if runes := []rune(line); width > 0 && len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return line
}

func escaped(rows [][]string) [][]string {
	safe := make([][]string, len(rows))
	for i, row := range rows {
		safe[i] = make([]string, len(row))
		for j, cell := range row {
			safe[i][j] = text.OneLine(cell)
		}
	}
	return safe
}

func widths(rows [][]string) (wide []int) {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(wide) {
				wide = append(wide, 0)
			}
			wide[i] = max(wide[i], utf8.RuneCountInString(cell))
		}
	}
	return wide
}
