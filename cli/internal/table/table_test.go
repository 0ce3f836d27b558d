// SPDX-License-Identifier: Apache-2.0

package table_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/cli/internal/table"
)

func TestColumnsAreAligned(t *testing.T) {
	g := NewWithT(t)
	rows := [][]string{{"from", "ms", "note"}, {"node-ä", "0.4", "a long note"}, {"b", "12.5", ""}}
	g.Expect(table.Lines(rows, 0, 1)).To(Equal([]string{
		"from      ms  note",
		"node-ä   0.4  a long note",
		"b       12.5",
	}))
	g.Expect(table.Width(rows)).To(Equal(25))
	g.Expect(table.Lines(rows, 18, 1)[1]).To(Equal("node-ä   0.4  a l…"))
}

func TestATableControlsNoTerminal(t *testing.T) {
	NewWithT(t).Expect(table.Lines([][]string{{"\x1b[31m", "a\nb"}}, 0)).To(Equal([]string{`\u001b[31m  a b`}))
}
