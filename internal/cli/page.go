// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/trellis-network/trellis/internal/explain"
	"github.com/trellis-network/trellis/plugin"
)

const (
	// pageWidth is how long lines of text get.
	pageWidth = 80
	margin    = "    "
)

// page lays an explanation out for a terminal.
func page(networkType string, e *explain.Explanation) string {
	var out strings.Builder
	fmt.Fprintf(&out, "KIND:     %s\nVERSION:  %s\n", e.Kind, strings.Join(e.Versions, ", "))
	if e.Path != "" {
		required := ""
		if e.Required {
			required = " (required)"
		}
		fmt.Fprintf(&out, "FIELD:    %s.%s <%s>%s\n", networkType, e.Path, e.Type, required)
	}
	section(&out, "DESCRIPTION", wrapped(e.Text.Intro+"\n\n"+e.Around.Intro, margin))
	section(&out, "ALLOWED", allowedLines(e))
	section(&out, "DEFAULT", defaultLines(e))
	section(&out, "EFFECT", wrapped(e.Text.Effect, margin))
	section(&out, "RULE", wrapped(e.Text.Rule, margin))
	section(&out, "A LATER CHANGE", changeLines(e.Changes))
	section(&out, "FIELDS", fieldLines(e.Fields))
	return out.String()
}

func section(out *strings.Builder, title, content string) {
	if content != "" {
		fmt.Fprintf(out, "\n%s:\n%s", title, content)
	}
}

func allowedLines(e *explain.Explanation) string {
	var lines string
	if len(e.Allowed) > 0 {
		lines += wrapped(values(e.Allowed), margin)
	}
	if e.Pattern != "" && len(e.Pattern) < pageWidth {
		lines += margin + "what matches " + e.Pattern + "\n"
	}
	if len(e.Examples) > 0 {
		lines += wrapped("for example "+values(e.Examples), margin)
	}
	return lines
}

func defaultLines(e *explain.Explanation) string {
	told := cmp.Or(e.Text.Default, e.Around.Default)
	lines := wrapped(told, margin)
	if len(e.Defaults) < 2 && told != "" {
		return lines
	}
	for _, each := range e.Defaults {
		line := "if nothing is written: "
		if each.When != "" {
			line = each.When + ": "
		}
		line += shown(each.Value)
		if each.Reason != "" {
			line += ", since " + each.Reason
		}
		lines += wrapped(line, margin+"- ")
	}
	return lines
}

func changeLines(changes []explain.Change) string {
	var lines string
	for _, change := range changes {
		line := fmt.Sprintf("%s: ", change.Class)
		if change.Class == plugin.Forbidden {
			line = "forbidden, and refused: "
		}
		if change.With != "" {
			line += change.With + " changes with it; "
		}
		line += change.Reason
		if steps := stepList(change.Steps); steps != "" {
			line += " (" + steps + ")"
		}
		lines += wrapped(line, margin+"- ")
	}
	return lines
}

// stepList lists changes by what they begin with: "from true or absent to false".
func stepList(steps []explain.Step) string {
	var order []string
	from := map[string][]string{}
	for _, step := range steps {
		to := shown(step.To)
		if !slices.Contains(order, to) {
			order = append(order, to)
		}
		from[to] = append(from[to], shown(step.From))
	}
	var list []string
	for _, to := range order {
		list = append(list, fmt.Sprintf("from %s to %s", strings.Join(from[to], " or "), to))
	}
	return strings.Join(list, ", ")
}

func fieldLines(fields []explain.Field) string {
	var out strings.Builder
	for i, field := range fields {
		if i > 0 {
			out.WriteByte('\n')
		}
		required := ""
		if field.Required {
			required = " (required)"
		}
		fmt.Fprintf(&out, "  %s\t<%s>%s\n%s", field.Name, field.Type, required, wrapped(field.Text.Intro, margin))
	}
	return out.String()
}

func values(list []any) string {
	names := make([]string, 0, len(list))
	for _, value := range list {
		names = append(names, shown(value))
	}
	return strings.Join(names, ", ")
}

// shown is a value as people would write it in YAML.
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

// wrapped breaks a text into lines. The first begins with the prefix, the others
// as far in.
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
