// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// elsewhere are the folders whose tests drive lines of the contract, beside this one.
var elsewhere = []string{
	"../api", "../../internal/bundle", "../../internal/controller/network", "../../internal/controller/heartbeat",
	"../../internal/controller/managedresource",
}

// leftOut are the lines that Trellis' resource manager does not serve; see SCOPE.md.
var leftOut = []string{"R25", "R26"}

// Each line of section 8 is driven by a test that names it, but for those about the
// admission of Shoots; and each that a test names is one of these.
func TestEachLineOfTheContractHasATest(t *testing.T) {
	g := NewWithT(t)
	drivenBy := map[string][]string{}
	for _, folder := range append(slices.Clone(elsewhere), ".") {
		for test, lines := range linesNamedIn(g, folder) {
			for _, line := range lines {
				drivenBy[line] = append(drivenBy[line], test)
			}
		}
	}
	var all []string
	for letter, last := range map[string]int{"N": 32, "C": 6, "L": 4, "R": 28} {
		for i := range last {
			all = append(all, fmt.Sprint(letter, i+1))
		}
	}
	for line := range drivenBy {
		g.Expect(all).To(ContainElement(line))
	}
	slices.SortFunc(all, func(a, b string) int {
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		return number(a) - number(b)
	})
	for _, line := range all {
		slices.Sort(drivenBy[line])
		t.Logf("%-3s %s", line, strings.Join(drivenBy[line], ", "))
		if slices.Contains(leftOut, line) {
			g.Expect(drivenBy[line]).To(BeEmpty(), line)
		} else {
			g.Expect(drivenBy[line]).NotTo(BeEmpty(), line)
		}
	}
}

var (
	oneLine = regexp.MustCompile(`\b[NCLR]\d+\b`)
	toLine  = regexp.MustCompile(`\b([NCLR])(\d+) to [NCLR](\d+)\b`)
)

// linesNamedIn returns the lines that the comments on a folder's tests name.
func linesNamedIn(g *WithT, folder string) map[string][]string {
	named := map[string][]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Test") && f.Recv == nil {
				named[filepath.Base(folder)+"."+f.Name.Name] = linesIn(f.Doc.Text())
			}
		}
		return nil
	})
	g.Expect(err).NotTo(HaveOccurred())
	return named
}

func linesIn(comment string) []string {
	lines := oneLine.FindAllString(comment, -1)
	for _, span := range toLine.FindAllStringSubmatch(comment, -1) {
		for i := number(span[1] + span[2]); i <= number(span[1]+span[3]); i++ {
			lines = append(lines, fmt.Sprint(span[1], i))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func number(line string) int {
	n, _ := strconv.Atoi(line[1:])
	return n
}
