// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
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
type row struct{ text, byDefault, change string }

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
				one := row{text: strings.Join(cells[1:], " "), change: cells[len(cells)-1]}
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
	defer found.survive("a change of " + path)
	in := s.clusters()[0].input(s.plugin.FeatureGates, nil)
	class, _ := s.plugin.Classify(path, s.nothing(), s.nothing(), &in, &in)
	if !strings.Contains(r.change, string(class)) {
		found.breach("%s says in its last column that a change of `%s` is %q, and Classify says %s", name, path, r.change, class)
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
