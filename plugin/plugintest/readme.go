// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/plugin"
)

// readme: what users read is what there is. Options stand in a table whose first column is
// called Field, one is called Default, and the last one has the class of a change.
func readme(s *suite, found *report) {
	text, name := s.readREADME(), filepath.Base(s.readme)
	rows := optionRows(text)
	if text == "" {
		found.breach("there is no README for users at %s; write one, or pass its path to Run with WithREADME", s.readme)
		return
	}
	empty := s.emptyNetwork(clustersFor(s.plugin)[0])
	for _, v := range s.values {
		if v.inList() && !strings.Contains(text, "`"+v.path+"`") {
			found.breach("%s does not name `%s`", name, v.path)
		}
		for _, path := range v.paths() {
			r, has := rows[path]
			class, _ := s.ask(path, empty, empty)
			switch {
			case v.inList():
			case !has:
				found.breach("%s does not describe `%s`; add a row to the table that begins with Field", name, path)
			case !strings.Contains(r.change, string(class)):
				found.breach("%s says in its last column that a change of `%s` is %q, and Classify says %s", name, path, r.change, class)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(rows)) {
		if !s.paths.MatchString(path) {
			found.breach("%s has a row for `%s`, which is no field; remove it", name, path)
			delete(rows, path)
		}
	}
	checkDefaults(s, found, rows)
	checkExamples(s, found, text)
}

// readREADME returns nothing if there is none.
func (s *suite) readREADME() string {
	raw, _ := os.ReadFile(s.readme)
	return string(raw)
}

// row is what the table says of a field.
type row struct{ text, byDefault, change string }

// optionRows are those of all tables that begin with Field, by the field.
func optionRows(text string) map[string]row {
	rows := map[string]row{}
	var header []string
	for line := range strings.Lines(text) {
		line, isRow := strings.CutPrefix(strings.TrimSpace(line), "|")
		cells := strings.Split(strings.TrimSuffix(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case !isRow:
			header = nil
		case header == nil:
			header = cells
		case header[0] == "Field" && len(cells) == len(header) && strings.HasPrefix(cells[0], "`"):
			one := row{text: strings.Join(cells[1:], " "), change: cells[len(cells)-1]}
			if at := slices.Index(header, "Default"); at >= 0 {
				one.byDefault = cells[at]
			}
			rows[strings.Trim(cells[0], "`")] = one
		}
	}
	return rows
}

// unconditional matches the value that is the default whatever else is said: of "`bird`;
// `none` with IPv6" it is `bird`, and "`true` with IPv6, else `false`" has none.
var unconditional = regexp.MustCompile("^(`[^`]+`)($|[;,])")

// checkDefaults compares the column Default with what is in force without the user's word.
func checkDefaults(s *suite, found *report, rows map[string]row) {
	name, somewhere := filepath.Base(s.readme), map[string]bool{}
	for _, n := range slices.Concat(s.plainNetworks(), s.varied()) {
		for path, value := range n.inForce {
			r, has := rows[path]
			if has && n.caseName == s.cases[0].Name && n.result.Origins[path].Source == plugin.FromDefault && !mentions(r.byDefault, value) {
				found.breach("%s says that the default of `%s` is %q, and %s is in force in %s", name, path, r.byDefault, value, n.name)
			}
			_, stated := n.written[path]
			somewhere[path] = somewhere[path] || !stated && mentions(unconditional.FindString(r.byDefault), value)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(rows)) {
		if match := unconditional.FindStringSubmatch(rows[path].byDefault); match != nil && !somewhere[path] {
			found.breach("%s says that the default of `%s` is %s, and that is in force in no network; fill it in in Default, write \"absent\" and what that means, or add a Case in which it is",
				name, path, match[1])
		}
	}
}

var unquote = strings.NewReplacer("`", "", `"`, "", "'", "")

// mentions reports whether a cell has a value, as a whole word and in any quotes.
func mentions(cell, value string) bool {
	word := regexp.QuoteMeta(unquote.Replace(value))
	return word == "" || regexp.MustCompile(`(^|[^\pL\pN])`+word+`($|[^\pL\pN])`).MatchString(unquote.Replace(cell))
}

var fenced = regexp.MustCompile("(?s)```ya?ml\n(.*?)```")

// checkExamples tries each NetworkConfig in the text in all clusters.
func checkExamples(s *suite, found *report, text string) {
	for _, match := range fenced.FindAllStringSubmatch(text, -1) {
		var head struct{ Kind string }
		config, err := yaml.YAMLToJSON([]byte(match[1]))
		if err != nil || json.Unmarshal(config, &head) != nil || head.Kind != "NetworkConfig" {
			continue // an object that a config stands in, or something else
		}
		var refused error
		for _, in := range clustersFor(s.plugin) {
			if refused = s.buildWith(string(config), in).result.Errors.ToAggregate(); refused == nil {
				break
			}
		}
		if refused != nil {
			found.breach("an example in %s is refused in every cluster: %v\n%s", filepath.Base(s.readme), refused, match[1])
		}
	}
}
