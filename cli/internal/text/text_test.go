// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/trellis-network/trellis/cli/internal/text"
)

// control is what a terminal obeys, or what makes text look like another.
const control = "\x1b]0;owned\x07\x9b31m\u009b2J\u202e\x7f\x00\U000e0001"

func TestNothingPrintedControlsATerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hostile := rapid.String().Draw(t, "before") + control + rapid.String().Draw(t, "after")
		for _, printed := range []string{text.OneLine(hostile), text.Printable(hostile), string(text.JSON([]byte(hostile)))} {
			for _, r := range printed {
				if !unicode.IsPrint(r) && r != '\n' && r != '\t' {
					t.Fatalf("%q has %U", printed, r)
				}
			}
		}
		if strings.ContainsAny(text.OneLine(hostile), "\n\t") {
			t.Fatal("more than one line")
		}
	})
}

func TestEscapedJSONMeansTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "value") + "\u202e\u009b\U000e0001é"
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if err := json.Unmarshal(text.JSON(raw), &got); err != nil || got != want {
			t.Fatalf("%q became %q: %v", want, got, err)
		}
	})
}

func TestLinesAreNoLongerThanTheTerminal(t *testing.T) {
	g := NewWithT(t)
	g.Expect(text.Wrap("one two three", 7)).To(Equal([]string{"one two", "three"}))
	g.Expect(text.Wrap("one unbreakable", 5)).To(Equal([]string{"one", "unbre", "akabl", "e"}))
	g.Expect(text.Wrap("any length", 0)).To(Equal([]string{"any length"}))
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 40).Draw(t, "width")
		words := rapid.SliceOf(rapid.StringMatching(`[a-zé]{1,60}`)).Draw(t, "words")
		lines := text.Wrap(strings.Join(words, " "), width)
		for _, line := range lines {
			if len([]rune(line)) > width {
				t.Fatalf("%q is longer than %d", line, width)
			}
		}
		if got := strings.Join(lines, ""); strings.ReplaceAll(got, " ", "") != strings.Join(words, "") {
			t.Fatalf("%q became %q", words, lines)
		}
	})
}
