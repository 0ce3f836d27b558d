// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/trellis-network/trellis/plugin"
)

// checkDocumentedDefaults compares the column Default with the doc comments on the
// type, as the plugin's schema has them, and with what is in force when the user writes
// no value.
func (s *suite) checkDocumentedDefaults(found *report, name string, rows map[string]row) {
	documented := s.defaultsInSchema()
	for _, path := range slices.Sorted(maps.Keys(documented)) {
		text := documented[path]
		for _, field := range s.lacking(rows, path, text) {
			found.breach("the doc comment of %s says \"Default: %s\", and the column Default of `%s` in %s does not say %q",
				path, firstLine(text), field, name, defaultFor(field, path, text))
		}
	}
	for _, n := range s.plainNetworks() {
		if n.caseName != s.cases[0].Name {
			continue
		}
		inForce := flatten(n.result.Config)
		maps.DeleteFunc(inForce, func(path, _ string) bool { return n.result.Origins[path].Source != plugin.FromDefault })
		for _, path := range slices.Sorted(maps.Keys(inForce)) {
			if r, has := rows[path]; has && !mentions(r.byDefault, inForce[path]) {
				found.breach("%s says that the default of `%s` is %q, and %s is in force in %s", name, path, r.byDefault, inForce[path], n.name)
			}
		}
	}
	s.checkInForce(found, name, rows)
}

// checkInForce looks for defaults in the README that are in force nowhere.
func (s *suite) checkInForce(found *report, name string, rows map[string]row) {
	somewhere := map[string]bool{}
	for _, n := range slices.Concat(s.plainNetworks(), s.varied()) {
		written := flatten(configOf(&n.request))
		for path, value := range flatten(n.result.Config) {
			_, stated := written[path]
			somewhere[path] = somewhere[path] || !stated && mentions(unconditional(rows[path].byDefault), value)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(rows)) {
		if value := unconditional(rows[path].byDefault); value != "" && !somewhere[path] && hasField(s.config, path) {
			found.breach("%s says that the default of `%s` is %s, and that is in force in no network; let Default fill it in, write \"absent\" and what that means, or add a Case in which it is",
				name, path, value)
		}
	}
}

var oneValue = regexp.MustCompile("^(`[^`]+`)($|[;,])")

// unconditional is the value that is the default whatever else is said: of "`bird`; `none`
// with IPv6" it is `bird`, and "`true` with IPv6, else `false`" has none.
func unconditional(byDefault string) string {
	if found := oneValue.FindStringSubmatch(byDefault); found != nil {
		return found[1]
	}
	return ""
}

// lacking are the fields in the table that do not mention the documented default. A
// block may mention its own in the row of any of its fields.
func (s *suite) lacking(rows map[string]row, path, text string) []string {
	var fields, without []string
	for _, field := range slices.Sorted(maps.Keys(rows)) {
		if field != path && !strings.HasPrefix(field, path+".") {
			continue
		}
		fields = append(fields, field)
		if !mentions(rows[field].byDefault, defaultFor(field, path, text)) {
			without = append(without, field)
		}
	}
	isBlock := slices.ContainsFunc(s.blocks, func(b block) bool { return b.path == path })
	if isBlock && len(without) < len(fields) {
		return nil
	}
	return without
}

var unquote = strings.NewReplacer("`", "", `"`, "", "'", "")

// mentions reports whether a cell says a value, whatever quotes are around it.
func mentions(cell, value string) bool {
	cell, value = unquote.Replace(cell), unquote.Replace(value)
	if value == "" {
		return true
	}
	for before := ""; ; {
		start, rest, is := strings.Cut(cell, value)
		before += start
		switch {
		case !is:
			return false
		case !endsInWord(before) && !beginsWithWord(rest): // 140 does not stand in 1400
			return true
		}
		before, cell = before+value, rest
	}
}

func endsInWord(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	return isOfWord(last)
}

func beginsWithWord(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return isOfWord(first)
}

func isOfWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// defaultFor is the value that a doc comment begins with: of "bird; none with IPv6" it
// is bird. A list of resources has one for each: "cpu 250m, memory 100Mi".
func defaultFor(field, path, text string) string {
	if resource := strings.TrimPrefix(field, path+"."); resource != field {
		if _, after, ok := strings.Cut(text, resource+" "); ok {
			text = after
		}
	}
	text, _, _ = strings.Cut(firstLine(text), ";")
	text, _, _ = strings.Cut(text, ",")
	text, _, _ = strings.Cut(text, ". ")
	return strings.TrimSuffix(strings.TrimSpace(text), ".")
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// schemaNode is what is read of a JSON schema.
type schemaNode struct {
	Description string                `json:"description"`
	Properties  map[string]schemaNode `json:"properties"`
}

// defaultsInSchema are what doc comments say after "Default: ", by path; none without
// a schema.
func (s *suite) defaultsInSchema() map[string]string {
	defaults := map[string]string{}
	var root schemaNode
	if json.Unmarshal(s.plugin.ConfigSchema, &root) == nil {
		root.collect(defaults, "")
	}
	return defaults
}

func (n schemaNode) collect(into map[string]string, path string) {
	if _, text, ok := strings.Cut("\n"+n.Description, "\nDefault: "); ok && path != "" {
		into[path] = text
	}
	for name, inner := range n.Properties {
		inner.collect(into, strings.TrimPrefix(path+"."+name, "."))
	}
}
