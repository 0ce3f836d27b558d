// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/trellis-network/trellis/internal/explain"
	"github.com/trellis-network/trellis/plugin"
)

const (
	// pageWidth is the length of a line at most.
	pageWidth = 80
	margin    = "    "
)

// page lays out an explanation for a terminal. packets are how packets travel by default.
func page(networkType string, e *explain.Explanation, packets []string) string {
	var out strings.Builder
	entry := func(label, text string) {
		out.WriteString(wrapped(text, fmt.Sprintf("%-10s", label+":")))
	}
	list := func(label string, lines []string) {
		if len(lines) == 1 {
			entry(label, lines[0])
			return
		}
		for i, line := range lines {
			if i == 0 {
				out.WriteString(label + ":\n")
			}
			out.WriteString(wrapped(line, margin+"- "))
		}
	}
	below := strings.TrimSuffix("."+e.Path, ".")
	if e.Path == "" {
		entry("KIND", e.Kind)
		entry("VERSION", strings.Join(e.Versions, ", "))
	} else {
		entry("FIELD", networkType+below+" "+typeOf(e.Type, e.Required))
		entry("VERSION", e.Versions[0])
	}
	entry("SHOOT", inShoot+below)
	entry("NETWORK", inNetwork+below)
	list("PACKETS", packets)
	out.WriteString("\nDESCRIPTION:\n" + wrapped(e.Text.Intro, margin) + "\n")
	entry("BLOCK", firstSentence(e.Around.Intro))
	entry("ALLOWED", allowed(e))
	entry("DEFAULT", e.Default)
	entry("EFFECT", e.Text.Effect)
	entry("RULE", e.Text.Rule)
	list("CHANGE", changeLines(e.Changes))
	if len(e.Fields) > 0 {
		fmt.Fprintf(&out, "FIELDS:\n%s\nThe default of a field, its effect, and the effect of a change: trellis explain %s%s.FIELD\n",
			fieldLines(e.Fields), networkType, below)
	}
	return out.String()
}

func typeOf(name string, required bool) string {
	if required {
		return "<" + name + "> (required)"
	}
	return "<" + name + ">"
}

// allowed returns the values that a user may write.
func allowed(e *explain.Explanation) string {
	var parts []string
	if len(e.Allowed) > 0 {
		parts = append(parts, values(e.Allowed))
	}
	if e.Range != "" {
		parts = append(parts, e.Range)
	}
	if e.Pattern != "" && len(e.Pattern) < pageWidth {
		parts = append(parts, "values that match "+e.Pattern)
	}
	if len(e.Examples) > 0 {
		parts = append(parts, "for example "+values(e.Examples))
	}
	return strings.Join(parts, ", ")
}

// changeLines returns a line for each effect that a change of the field can have.
func changeLines(changes []plugin.PossibleChange) []string {
	var lines []string
	for _, change := range changes {
		class := string(change.Class)
		switch {
		case change.When != "":
			class += " " + change.When
		case len(changes) > 1:
			class += " otherwise"
		}
		lines = append(lines, class+": "+change.Reason)
	}
	return lines
}

func fieldLines(fields []explain.Field) string {
	var out strings.Builder
	for _, field := range fields {
		fmt.Fprintf(&out, "  %s %s\n%s", field.Name, typeOf(field.Type, field.Required), wrapped(firstSentence(field.Text.Intro), margin))
	}
	return out.String()
}

// firstSentence returns the text up to the first full stop before a space.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if first, _, isLonger := strings.Cut(text, ". "); isLonger {
		return first + "."
	}
	return text
}

func values(list []any) string {
	names := make([]string, 0, len(list))
	for _, value := range list {
		names = append(names, shown(value))
	}
	return strings.Join(names, ", ")
}

// shown returns a value as users write it in YAML.
func shown(value any) string {
	switch v := value.(type) {
	case nil:
		return "absent"
	case string:
		if strings.Trim(v, "0123456789.") == "" {
			return fmt.Sprintf("%q", v) // without quotes it would be a number
		}
		return v
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// wrapped breaks a text into lines. The first line begins with the prefix, and the
// others are indented as far. It returns nothing for an empty text.
func wrapped(text, prefix string) string {
	var out strings.Builder
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		words := strings.Fields(paragraph)
		if len(words) == 0 {
			continue
		}
		if out.Len() > 0 {
			out.WriteByte('\n')
		}
		line := prefix + words[0]
		prefix = strings.Repeat(" ", len(prefix))
		for _, word := range words[1:] {
			if len(line)+1+len(word) > pageWidth {
				out.WriteString(line + "\n")
				line = prefix + word
				continue
			}
			line += " " + word
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}
