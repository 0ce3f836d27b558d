// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/plugin"
)

// readme: what users read is what there is. Options stand in a table whose first column
// is called Field, one is called Default, and whose last one tells the class of a
// change.
func readme(s *suite, found *report) {
	raw, err := os.ReadFile(s.readme)
	if err != nil {
		found.breach("users have nothing to read: %v; write a README, or tell Run where it is with WithREADME", err)
		return
	}
	text, name := string(raw), filepath.Base(s.readme)
	rows := optionRows(text)
	for _, v := range s.values {
		if v.inList {
			if !strings.Contains(text, "`"+v.path+"`") {
				found.breach("%s does not name `%s`", name, v.path)
			}
			continue
		}
		for _, path := range v.paths() {
			if row, has := rows[path]; has {
				s.checkRow(found, name, path, row)
			} else {
				found.breach("%s does not tell what `%s` is; add a row to the table that begins with Field", name, path)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(rows)) {
		if !hasField(s.config, path) {
			found.breach("%s has a row for `%s`, which is no field; remove it", name, path)
		}
	}
	s.checkDocumentedDefaults(found, name, rows)
	s.checkExamples(found, name, text)
}

// row is what the table says of a field.
type row struct{ byDefault, change string }

var firstCell = regexp.MustCompile("^`([^`]+)`$")

// optionRows are those of all tables that begin with Field, by the field.
func optionRows(text string) map[string]row {
	rows := map[string]row{}
	var header []string
	for line := range strings.Lines(text) {
		cells := cellsOf(line)
		switch {
		case len(cells) == 0:
			header = nil
		case header == nil:
			header = cells
		case header[0] == "Field" && len(cells) == len(header):
			if field := firstCell.FindStringSubmatch(cells[0]); field != nil {
				one := row{change: cells[len(cells)-1]}
				if at := slices.Index(header, "Default"); at >= 0 {
					one.byDefault = cells[at]
				}
				rows[field[1]] = one
			}
		}
	}
	return rows
}

// cellsOf are those of a line of a table; none of other lines.
func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	if len(line) < 2 || line[0] != '|' || line[len(line)-1] != '|' {
		return nil
	}
	cells := strings.Split(line[1:len(line)-1], "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

func (s *suite) checkRow(found *report, name, path string, r row) {
	class, _ := s.plugin.Classify(path, reflect.New(s.config).Interface(), reflect.New(s.config).Interface())
	if !strings.Contains(r.change, string(class)) {
		found.breach("%s says in its last column that a change of `%s` is %q, and Classify says %s", name, path, r.change, class)
	}
}

// checkDocumentedDefaults compares the column Default with the doc comments on the
// type, as the plugin's schema has them, and with what is in force when the user says
// nothing.
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
		inForce := leavesOf(n.result.Config)
		for _, path := range slices.Sorted(maps.Keys(inForce)) {
			value := inForce[path]
			if r, has := rows[path]; has && n.result.Origins[path].Source == plugin.FromDefault && !mentions(r.byDefault, value) {
				found.breach("%s says that the default of `%s` is %q, and %s is in force in %s", name, path, r.byDefault, value, n.name)
			}
		}
	}
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

// mentions says whether a cell says a value, whatever quotes are around it.
func mentions(cell, value string) bool {
	return strings.Contains(unquote.Replace(cell), unquote.Replace(value))
}

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

var fenced = regexp.MustCompile("(?s)```ya?ml\n(.*?)```")

// checkExamples tries each NetworkConfig in the text in all clusters.
func (s *suite) checkExamples(found *report, name, text string) {
	for _, match := range fenced.FindAllStringSubmatch(text, -1) {
		var head struct{ APIVersion, Kind string }
		if yaml.Unmarshal([]byte(match[1]), &head) != nil || head.Kind != "NetworkConfig" {
			continue // an object that a config stands in, or something else
		}
		var refused error
		for _, in := range s.clusters() {
			result := s.pipeline.Build(s.request(Case{Config: match[1]}, in))
			if refused = result.Errors.ToAggregate(); refused == nil {
				break
			}
		}
		if refused != nil {
			found.breach("an example in %s is refused in every cluster: %v\n%s", name, refused, match[1])
		}
	}
}
