// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/contract"
)

// The table has the tests that call contract.Shows. make contract compares it with the
// tests that passed; this test only reads the code.
func TestTheTableAgreesWithTheCode(t *testing.T) {
	g := NewWithT(t)
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, documentPath))
	g.Expect(err).NotTo(HaveOccurred())
	stated, problems, err := statements(root)
	g.Expect(err).NotTo(HaveOccurred())
	updated, wrong := check(string(text), stated, contract.IDs())
	g.Expect(append(problems, wrong...)).To(BeEmpty())

	present, expected := strings.Split(string(text), "\n"), strings.Split(updated, "\n")
	for _, row := range expected {
		if !slices.Contains(present, row) {
			t.Errorf("%s lacks the row:\n%s", documentPath, row)
		}
	}
	for _, row := range present {
		if !slices.Contains(expected, row) {
			t.Errorf("%s has a row that the tests do not state:\n%s", documentPath, row)
		}
	}
	g.Expect(present).To(HaveLen(len(expected)), "a row occurs twice")
}

func TestCallsOfShowsAreFound(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	for path, code := range map[string]string{
		"a/a_test.go": `package a
func TestOne(t *testing.T) {
	contract.Shows(t, "N1", "N2")
	t.Run("part", func(t *testing.T) { contract.Shows(t, "N3") })
	other.Shows(t, "N4")
	Shows(t, "N4")
}
func TestTwo(t *testing.T) { contract.Shows(t, id) }
func help(t *testing.T) { contract.Shows(t, "N5") }
`,
		"a/a.go":                  "package a\nfunc TestCode(t *testing.T) { contract.Shows(t, \"N6\") }\n",
		"test/contract/b_test.go": "package contract\nfunc TestThree(t *testing.T) { Shows(t, \"N1\") }\n",
		"module/go.mod":           "module example.org/module\n",
		"module/c_test.go":        "package module\nfunc TestFour(t *testing.T) { contract.Shows(t, \"N7\") }\n",
	} {
		g.Expect(os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(root, path), []byte(code), 0o644)).To(Succeed())
	}
	stated, problems, err := statements(root)
	g.Expect(err).NotTo(HaveOccurred())
	one, three := test{"a", "TestOne"}, test{"test/contract", "TestThree"}
	g.Expect(stated).To(Equal(map[string]map[test]bool{
		"N1": {one: true, three: true}, "N2": {one: true}, "N3": {one: true},
	}))
	g.Expect(problems).To(ConsistOf(
		"a: TestTwo calls contract.Shows with something other than an id in quotes",
		"a: help calls contract.Shows, but is no test",
	))
}

// statements returns the tests of a module that call contract.Shows, by the ids that they
// state, and the calls that it cannot understand.
func statements(root string) (stated map[string]map[test]bool, problems []string, err error) {
	stated = map[string]map[test]bool{}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root:
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil || strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
		}
		if entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok {
				of := test{filepath.ToSlash(folder), function.Name.Name}
				problems = append(problems, statementsOf(of, function, stated)...)
			}
		}
		return nil
	})
	return stated, problems, err
}

// statementsOf adds what a function states, and returns the calls that it cannot understand.
func statementsOf(of test, function *ast.FuncDecl, stated map[string]map[test]bool) (problems []string) {
	ast.Inspect(function, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok || !isShows(call.Fun, of.pkg) {
			return true
		}
		if !strings.HasPrefix(of.name, "Test") {
			problems = append(problems, fmt.Sprintf("%s: %s calls contract.Shows, but is no test", of.pkg, of.name))
			return true
		}
		for _, argument := range call.Args[1:] {
			literal, ok := argument.(*ast.BasicLit)
			if !ok {
				problems = append(problems, fmt.Sprintf("%s: %s calls contract.Shows with something other than an id in quotes", of.pkg, of.name))
				continue
			}
			id, _ := strconv.Unquote(literal.Value)
			if stated[id] == nil {
				stated[id] = map[test]bool{}
			}
			stated[id][of] = true
		}
		return true
	})
	return problems
}

// isShows reports whether an expression in a package names contract.Shows.
func isShows(called ast.Expr, pkg string) bool {
	switch called := called.(type) {
	case *ast.Ident:
		return called.Name == "Shows" && pkg == "test/contract"
	case *ast.SelectorExpr:
		of, ok := called.X.(*ast.Ident)
		return ok && of.Name == "contract" && called.Sel.Name == "Shows"
	}
	return false
}
