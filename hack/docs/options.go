// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/trellis-network/trellis/hack/section"
	"github.com/trellis-network/trellis/internal/explain"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins"
)

// writeOptions writes the table of options of each plugin: from the doc comments, types
// and markers of its NetworkConfig, and the classes of changes that it declares.
func writeOptions() error {
	for _, one := range plugins.All() {
		rows, err := optionTable(&one)
		if err != nil {
			return err
		}
		if err := section.Write(filepath.Join("plugins", one.Type, "README.md"), "options", rows); err != nil {
			return err
		}
	}
	return nil
}

func optionTable(one *plugin.Plugin) (string, error) {
	config, err := explain.Of(one)
	if err != nil {
		return "", err
	}
	paths := config.Leaves()
	var rows strings.Builder
	rows.WriteString("| Field | Values | Default | Meaning | Effect of a change |\n|---|---|---|---|---|\n")
	for _, path := range paths {
		e, err := config.Field(path)
		if err != nil {
			return "", err
		}
		cells := []string{"`" + e.Path + "`", values(e), byDefault(e), meaning(e, paths), change(e)}
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.Join(strings.Fields(cells[i]), " "), "|", `\|`)
		}
		rows.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return rows.String(), nil
}

// values returns the allowed values, or the type.
func values(e *explain.Explanation) string {
	switch {
	case e.Type == "boolean":
		return "boolean"
	case len(e.Allowed) > 0:
		var list []string
		for _, value := range e.Allowed {
			if value != "" {
				list = append(list, fmt.Sprintf("`%v`", value))
			}
		}
		return strings.Join(list, ", ")
	case e.Range != "":
		return e.Range
	case strings.Contains(e.Type, " or "):
		return "quantity"
	}
	return e.Type
}

// aValue matches the value that a documented default begins with.
var aValue = regexp.MustCompile(`^("?[\w.-]+"?)([;,.]|$)`)

func byDefault(e *explain.Explanation) string {
	text := strings.TrimSuffix(e.Default, ".")
	if strings.HasPrefix(text, "absent") {
		return text
	}
	return aValue.ReplaceAllString(text, "`$1`$2")
}

// meaning returns the documentation of the field, without its name. A quantity has that
// of its block.
func meaning(e *explain.Explanation, paths []string) string {
	text, names := e.Text, strings.Split(e.Path, ".")
	name := names[len(names)-1]
	if strings.Contains(e.Type, " or ") {
		text, name = e.Around, names[len(names)-2]
	}
	sentence := withoutName(name, text.Intro)
	if text.Rule != "" {
		sentence += " " + text.Rule
	}
	var fields []string
	for _, path := range paths {
		if strings.ContainsAny(path, ".ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			fields = append(fields, regexp.QuoteMeta(path))
		}
	}
	slices.SortFunc(fields, func(a, b string) int { return len(b) - len(a) })
	return regexp.MustCompile(`\b(`+strings.Join(fields, "|")+`)\b(: (true|false))?`).ReplaceAllString(sentence, "`$0`")
}

// change returns the classes that a change of the field can have: first the one without a
// condition, then other classes with their conditions.
func change(e *explain.Explanation) string {
	var always plugin.ChangeClass
	var classes []string
	for _, each := range e.Changes {
		if each.When == "" {
			always, classes = each.Class, []string{string(each.Class)}
		}
	}
	for _, each := range e.Changes {
		if each.Class != always {
			classes = append(classes, string(each.Class)+" "+each.When)
		}
	}
	return strings.Join(slices.Compact(classes), "; ")
}
