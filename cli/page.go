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
	below := strings.TrimSuffix("."+e.Path, ".")
	fmt.Fprintf(&out, "SHOOT:    %s%s\nNETWORK:  %s%s\n", inShoot, below, inNetwork, below)
	section(&out, "DESCRIPTION", wrapped(e.Text.Intro+"\n\n"+e.Around.Intro, margin))
	section(&out, "ALLOWED", allowedLines(e))
	section(&out, "DEFAULT", defaultLines(e))
	section(&out, "EFFECT", wrapped(e.Text.Effect, margin))
	section(&out, "RULE", wrapped(e.Text.Rule, margin))
	section(&out, "A LATER CHANGE", changeLines(e.Changes))
	section(&out, "FIELDS", fieldLines(e.Fields))
	if len(e.Fields) > 0 {
		full := strings.Trim(networkType+"."+e.Path, ".")
		fmt.Fprintf(&out, "\nDefaults, effects and what a later change means: trellis explain %s.FIELD\n", full)
	}
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
	if told != "" && !isNews(e.Defaults, told) {
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

// isNews says whether the defaults are more than what the documentation says.
func isNews(defaults []explain.Default, told string) bool {
	if len(defaults) != 1 {
		return len(defaults) > 1
	}
	return defaults[0].Value != nil && !strings.HasPrefix(told, shown(defaults[0].Value))
}

func changeLines(changes []explain.Change) string {
	var lines string
	for _, change := range changes {
		line := string(change.Class)
		if change.Class == plugin.Forbidden {
			line = "forbidden, and refused"
		}
		if len(change.When) > 0 {
			line += ", " + strings.Join(change.When, " or ")
		}
		line += ": "
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
	from := listsBy(steps, func(s explain.Step) (string, string) { return shown(s.To), shown(s.From) })
	// Changes that begin with the same are told together.
	var list []string
	for _, each := range listsBy(from, func(l labelled) (string, string) { return strings.Join(l.list, " or "), l.label }) {
		list = append(list, fmt.Sprintf("from %s to %s", each.label, strings.Join(each.list, " or ")))
	}
	return strings.Join(list, ", ")
}

// labelled is a list of what has something in common.
type labelled struct {
	label string
	list  []string
}

// listsBy collects items by a label, in the order in which they come.
func listsBy[T any](items []T, split func(T) (label, item string)) []labelled {
	var lists []labelled
	for _, each := range items {
		label, item := split(each)
		i := slices.IndexFunc(lists, func(l labelled) bool { return l.label == label })
		if i < 0 {
			lists = append(lists, labelled{label: label})
			i = len(lists) - 1
		}
		lists[i].list = append(lists[i].list, item)
	}
	return lists
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
