// SPDX-License-Identifier: Apache-2.0

// Package text makes texts of others safe to print: none of their characters controls the
// terminal of who reads them.
package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// MaxLine is how many characters of a text OneLine keeps.
const MaxLine = 600

// Printable escapes each character that is not printable as \uXXXX, except tabs and line
// breaks.
func Printable(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r == '\t' || r == '\n' || unicode.IsPrint(r) {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, "\\u%04x", r)
		}
	}
	return out.String()
}

// OneLine puts a text on one line of limited length, and escapes what Printable escapes.
func OneLine(text string) string {
	if runes := []rune(text); len(runes) > MaxLine {
		text = string(runes[:MaxLine]) + "…"
	}
	return Printable(strings.NewReplacer("\n", " ", "\t", " ").Replace(text))
}

// JSON escapes in JSON what Printable escapes in a text. Its meaning stays the same, since JSON
// has such characters only within strings.
func JSON(raw []byte) []byte {
	var out strings.Builder
	for _, r := range string(raw) {
		switch high, low := utf16.EncodeRune(r); {
		case r == '\t' || r == '\n' || unicode.IsPrint(r):
			out.WriteRune(r)
		case high != unicode.ReplacementChar:
			fmt.Fprintf(&out, "\\u%04x\\u%04x", high, low)
		default:
			fmt.Fprintf(&out, "\\u%04x", r)
		}
	}
	return []byte(out.String())
}

// Wrap breaks a text at spaces into lines of at most width characters. A word that is longer is
// broken too. A width of 0 or less means that lines may have any length.
func Wrap(text string, width int) []string {
	if width <= 0 || len([]rune(text)) <= width {
		return []string{text}
	}
	var lines []string
	line := []rune{}
	for word := range strings.FieldsSeq(text) {
		letters := []rune(word)
		if len(line) > 0 && len(line)+1+len(letters) > width {
			lines, line = append(lines, string(line)), nil
		}
		if len(line) > 0 {
			line = append(line, ' ')
		}
		for line = append(line, letters...); len(line) > width; line = line[width:] {
			lines = append(lines, string(line[:width]))
		}
	}
	return append(lines, string(line))
}
