// SPDX-License-Identifier: Apache-2.0

package tree_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/cli/internal/tree"
)

func example() *tree.Node {
	root := &tree.Node{Label: "shoot--dev--mine/mine", Text: "healthy"}
	components := root.Add("components", "healthy for 5m, which takes more room than a terminal of this width has")
	components.Add("nodes", "healthy")
	components.Add("controllers", "healthy")
	root.Add("a label that is longer than all that others wait for", "its text")
	root.Add("a line without a text, but with more words than fit", "")
	return root
}

func TestATreeFitsTheTerminal(t *testing.T) {
	NewWithT(t).Expect("\n" + strings.Join(example().Lines(50), "\n") + "\n").To(Equal(`
shoot--dev--mine/mine  healthy
├─ components  healthy for 5m, which takes more
│  │           room than a terminal of this width
│  │           has
│  ├─ nodes        healthy
│  └─ controllers  healthy
├─ a label that is longer than all that others wait for  its text
└─ a line without a text, but with more words
     than fit
`))
	for _, line := range example().Lines(0) {
		NewWithT(t).Expect(line).NotTo(HavePrefix("│  │   "), "nothing is broken where there is no width")
	}
}

func TestATreeControlsNoTerminal(t *testing.T) {
	g := NewWithT(t)
	root := &tree.Node{Label: "\x1b[31m\nlabel", Text: "\u202etext\x9b"}
	root.Add("\x1b[2J", "")
	lines := root.Lines(0)
	g.Expect(lines).To(Equal([]string{`\u001b[31m label  \u202etext` + "\ufffd", `└─ \u001b[2J`}))
	for _, line := range lines {
		g.Expect(utf8.ValidString(line)).To(BeTrue())
	}
}
