// SPDX-License-Identifier: Apache-2.0

// Package tree lays a tree of labelled texts out for a terminal. It does not know what the texts
// are about, and escapes what would control the terminal.
package tree

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/trellis-network/trellis/cli/internal/text"
)

// Node is an entry of a tree, with the entries below it. The texts of siblings begin in the same
// column. Without a label, the text takes its place.
type Node struct {
	Label, Text string
	Children    []*Node
}

// Add adds an entry below the node, and returns it.
func (n *Node) Add(label, format string, args ...any) *Node {
	child := &Node{Label: label, Text: fmt.Sprintf(format, args...)}
	n.Children = append(n.Children, child)
	return child
}

// maxLabel is how many columns labels get for which all siblings wait.
const maxLabel = 24

// Lines returns the lines of the tree, none longer than width characters; 0 means that they may
// have any length. Where a terminal is so narrow that texts would have less than ten characters
// a line, lines are longer.
func (n *Node) Lines(width int) []string {
	return append(entry(n, "", "", 0, width), n.below("", width)...)
}

func (n *Node) below(indent string, width int) (lines []string) {
	column := 0
	for _, child := range n.Children {
		if length := utf8.RuneCountInString(text.OneLine(child.Label)); child.Text != "" && length <= maxLabel {
			column = max(column, length)
		}
	}
	for i, child := range n.Children {
		branch, further := "├─ ", "│  "
		if i == len(n.Children)-1 {
			branch, further = "└─ ", "   "
		}
		lines = append(lines, entry(child, indent+branch, indent+further, column, width)...)
		lines = append(lines, child.below(indent+further, width)...)
	}
	return lines
}

// entry returns the lines of one entry. The first begins with first, the others with further.
func entry(n *Node, first, further string, column, width int) (lines []string) {
	label, content := text.OneLine(n.Label), text.OneLine(n.Text)
	if len(n.Children) > 0 {
		further += "│"
	}
	hanging := utf8.RuneCountInString(first) + 2
	if content == "" {
		label, content = "", label
	} else if label != "" {
		first += label + strings.Repeat(" ", max(column-utf8.RuneCountInString(label), 0)+2)
		hanging += column
	}
	further += strings.Repeat(" ", max(hanging-utf8.RuneCountInString(further), 1))
	left := 0
	if width > 0 {
		left = max(width-max(utf8.RuneCountInString(first), utf8.RuneCountInString(further)), 10)
	}
	for i, line := range text.Wrap(content, left) {
		if i > 0 {
			first = further
		}
		lines = append(lines, first+line)
	}
	return lines
}
