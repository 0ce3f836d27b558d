// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/trellis-network/trellis/hack/section"
)

// definition matches the definition of a behaviour, and whether it says that no test can
// show the behaviour.
var definition = regexp.MustCompile(`(?m)^\| ([A-Z][0-9]+) \| (\*(?:Not yet|Left out))?.* \|$`)

// shownBy is the section with the table of tests.
const shownBy = "shown by"

// check returns the document with the present table of tests, and what is wrong with
// the document's definitions or the tests. ids are those that tests may state.
func check(document string, shown map[string]map[test]bool, ids []string) (string, []string) {
	var problems []string
	wrong := func(format string, values ...any) { problems = append(problems, fmt.Sprintf(format, values...)) }
	definitions, err := section.Replace(document, shownBy, "")
	if err != nil {
		return document, []string{err.Error()}
	}
	missing := map[string]bool{} // by id, whether it is not there to be shown
	for _, match := range definition.FindAllStringSubmatch(definitions, -1) {
		id := match[1]
		if _, twice := missing[id]; twice {
			wrong("%s is defined twice", id)
		}
		if missing[id] = match[2] != ""; !slices.Contains(ids, id) {
			wrong("%s is defined, but test/contract does not count it", id)
		}
	}
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
			wrong("no test that passed shows %s", id)
		default:
			fmt.Fprintf(&table, "| %s | %s |\n", id, list(shown[id]))
		}
	}
	updated, _ := section.Replace(document, shownBy, table.String())
	return updated, problems
}

// list names tests by their packages.
func list(tests map[test]bool) string {
	names := map[string][]string{}
	for _, each := range slices.SortedFunc(maps.Keys(tests), func(a, b test) int { return cmp.Compare(a.name, b.name) }) {
		names[each.pkg] = append(names[each.pkg], each.name)
	}
	var lines []string
	for _, pkg := range slices.Sorted(maps.Keys(names)) {
		lines = append(lines, "`"+pkg+"`: "+strings.Join(names[pkg], ", "))
	}
	return strings.Join(lines, "<br>")
}
