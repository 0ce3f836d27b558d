// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The table of tests is between these lines.
const (
	begin = "<!-- begin: shown by -->\n"
	end   = "<!-- end: shown by -->\n"
)

var (
	definition = regexp.MustCompile(`(?m)^\| ([A-Z][0-9]+) \| (.*) \|$`)
	// without marks behaviours that no test can show.
	without = regexp.MustCompile(`^\*(Not yet|Left out)`)
)

// check returns the document with the present table of tests, and what is wrong with
// the document's definitions or the tests. ids are those that tests may state.
func check(document string, shown map[string]map[test]bool, ids []string) (string, []string) {
	before, rest, found := strings.Cut(document, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return document, []string{fmt.Sprintf("the lines %q and %q are missing", strings.TrimSpace(begin), strings.TrimSpace(end))}
	}
	var problems []string
	wrong := func(format string, values ...any) { problems = append(problems, fmt.Sprintf(format, values...)) }
	missing := map[string]bool{} // by id, whether it is not there to be shown
	for _, match := range definition.FindAllStringSubmatch(before+after, -1) {
		if _, twice := missing[match[1]]; twice {
			wrong("%s is defined twice", match[1])
		}
		missing[match[1]] = without.MatchString(match[2])
	}
	var unshown []string
	var table strings.Builder
	table.WriteString("| Id | Tests |\n|---|---|\n")
	for _, id := range ids {
		switch isMissing, defined := missing[id]; {
		case !defined:
			wrong("%s is not defined, but test/contract counts it", id)
		case isMissing && len(shown[id]) > 0:
			wrong("%s is said to be missing, but shown by %s", id, list(shown[id]))
		case isMissing:
		case len(shown[id]) == 0:
			unshown = append(unshown, id)
		default:
			fmt.Fprintf(&table, "| %s | %s |\n", id, list(shown[id]))
		}
	}
	if len(unshown) > 0 {
		wrong("no test that passed shows %s", strings.Join(unshown, ", "))
	}
	for _, id := range slices.Sorted(maps.Keys(missing)) {
		if !slices.Contains(ids, id) {
			wrong("%s is defined, but test/contract does not count it", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(shown)) {
		if !slices.Contains(ids, id) {
			wrong("%s is shown by %s, but not defined", id, list(shown[id]))
		}
	}
	return before + begin + table.String() + end + after, problems
}

// list names tests by their packages.
func list(tests map[test]bool) string {
	sorted := slices.SortedFunc(maps.Keys(tests), func(a, b test) int {
		return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.name, b.name))
	})
	var text strings.Builder
	for i, each := range sorted {
		switch {
		case i == 0:
			text.WriteString("`" + each.pkg + "`: ")
		case sorted[i-1].pkg != each.pkg:
			text.WriteString("<br>`" + each.pkg + "`: ")
		default:
			text.WriteString(", ")
		}
		text.WriteString(each.name)
	}
	return text.String()
}
