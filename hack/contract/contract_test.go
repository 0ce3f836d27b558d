// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestOnlyTestsThatPassedCount(t *testing.T) {
	g := NewWithT(t)
	var stream strings.Builder
	for _, line := range []string{
		`"Action":"attr","Test":"TestFine","Key":"gardener-contract","Value":"N1"`,
		`"Action":"attr","Test":"TestFine","Key":"another","Value":"N2"`,
		`"Action":"attr","Test":"TestFine/part","Key":"gardener-contract","Value":"N3"`,
		`"Action":"pass","Test":"TestFine/part"`,
		`"Action":"attr","Test":"TestFine/skipped","Key":"gardener-contract","Value":"N4"`,
		`"Action":"skip","Test":"TestFine/skipped"`,
		`"Action":"pass","Test":"TestFine"`,
		`"Action":"attr","Test":"TestWrong/fine","Key":"gardener-contract","Value":"N5"`,
		`"Action":"pass","Test":"TestWrong/fine"`,
		`"Action":"output","Test":"TestWrong","Output":"what is wrong\n"`,
		`"Action":"fail","Test":"TestWrong"`,
		`"Action":"attr","Test":"TestEndless","Key":"gardener-contract","Value":"N6"`,
	} {
		stream.WriteString(`{"Package":"` + module + `some/where",` + line + "}\n")
	}
	var printed strings.Builder
	found := newResults(&printed)
	g.Expect(found.read(io.MultiReader(strings.NewReader("no event\n"), strings.NewReader(stream.String())))).To(Succeed())
	fine := map[test]bool{{"some/where", "TestFine"}: true}
	g.Expect(found.shown()).To(Equal(map[string]map[test]bool{"N1": fine, "N3": fine}))
	g.Expect(found.failed).To(Equal(1))
	g.Expect(printed.String()).To(Equal("no event\nwhat is wrong\n"))
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	const begin, end = "<!-- begin: shown by -->\n", "<!-- end: shown by -->\n"
	one, two := test{"a", "TestOne"}, test{"b", "TestTwo"}
	const definitions = "| N1 | Fine. |\n| N2 | *Not yet* (later). |\n"
	document := definitions + begin + end + "Bye.\n"
	for name, test := range map[string]struct {
		document string
		shown    map[string]map[test]bool
		ids      []string
		problems []string
	}{
		"nothing":               {document, map[string]map[test]bool{"N1": {one: true}}, []string{"N1", "N2"}, nil},
		"nothing shows it":      {document, nil, []string{"N1", "N2"}, []string{"no test that passed shows N1"}},
		"it is there after all": {document, map[string]map[test]bool{"N1": {one: true}, "N2": {two: true}}, []string{"N1", "N2"}, []string{"N2 is said to be missing, but shown by `b`: TestTwo"}},
		"not counted":           {document, map[string]map[test]bool{"N1": {one: true}}, []string{"N1"}, []string{"N2 is defined, but test/contract does not count it"}},
		"not defined": {document, map[string]map[test]bool{"N1": {one: true}}, []string{"N1", "N2", "N4"},
			[]string{"N4 is not defined, but test/contract counts it"}},
		"twice":    {definitions + document, map[string]map[test]bool{"N1": {one: true}}, []string{"N1", "N2"}, []string{"N1 is defined twice", "N2 is defined twice"}},
		"no table": {definitions + begin, nil, []string{"N1", "N2"}, []string{`the lines "<!-- begin: shown by -->" and "<!-- end: shown by -->" are missing`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := check(test.document, test.shown, test.ids)
			NewWithT(t).Expect(problems).To(Equal(test.problems))
		})
	}
}

func TestTheTableNamesTestsByPackage(t *testing.T) {
	g := NewWithT(t)
	const begin, end = "<!-- begin: shown by -->\n", "<!-- end: shown by -->\n"
	shown := map[string]map[test]bool{"N1": {{"b", "TestTwo"}: true, {"b", "TestOne"}: true, {"a", "TestThree"}: true}}
	const definitions = "| N1 | Fine. |\n| N2 | *Left out.* Others do it. |\n"
	updated, problems := check(definitions+begin+"old\n"+end+"Bye.\n", shown, []string{"N1", "N2"})
	g.Expect(problems).To(BeEmpty())
	g.Expect(updated).To(Equal(definitions + begin +
		"| Id | Tests |\n|---|---|\n| N1 | `a`: TestThree<br>`b`: TestOne, TestTwo |\n" + end + "Bye.\n"))
}
