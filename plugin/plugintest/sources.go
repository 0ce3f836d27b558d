// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// hooks are the methods by which a plugin is asked. What init does, all of them see.
var hooks = []string{
	"Describe", "Validate", "Default", "ValidateEffective", "Classify",
	"Render", "Precondition", "IPAM", "Mutate", "init",
}

// impure is what depends on more than its arguments, by import path: all of a package
// but for some names, or these names of it.
var impure = map[string]struct {
	but   []string
	names []string
}{
	"os":                                   {but: []string{"FileMode", "ModePerm", "ErrExist", "ErrNotExist"}},
	"os/exec":                              {},
	"os/user":                              {},
	"io/ioutil":                            {},
	"syscall":                              {},
	"net/http":                             {but: []string{"StatusText", "MethodGet", "MethodPost", "MethodPut"}},
	"crypto/rand":                          {},
	"math/rand":                            {},
	"math/rand/v2":                         {},
	"hash/maphash":                         {},
	"k8s.io/apimachinery/pkg/util/rand":    {},
	"k8s.io/apimachinery/pkg/util/uuid":    {},
	"time":                                 {names: []string{"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep", "Local", "LoadLocation"}},
	"runtime":                              {names: []string{"NumCPU", "GOMAXPROCS", "NumGoroutine", "GOOS", "GOARCH"}},
	"net":                                  {names: []string{"Dial", "Listen", "LookupHost", "LookupIP", "LookupAddr", "Interfaces", "InterfaceAddrs", "InterfaceByName", "ResolveIPAddr", "ResolveTCPAddr"}},
	"path/filepath":                        {names: []string{"Abs", "EvalSymlinks", "Glob", "Walk", "WalkDir"}},
	"k8s.io/apimachinery/pkg/apis/meta/v1": {names: []string{"Now"}},
}

func isImpure(path, name string) bool {
	rule, listed := impure[path]
	if len(rule.names) > 0 {
		return slices.Contains(rule.names, name)
	}
	return listed && !slices.Contains(rule.but, name)
}

// sources are the declarations in a folder and in those below it, by name. What has the
// same name is taken together: that finds too much rather than too little.
type sources struct {
	files *token.FileSet
	named map[string][]declared
}

// declared is a function, method, variable or constant, and what the file that it is in
// imports, by the name in the file.
type declared struct {
	node    ast.Node
	imports map[string]string
}

// checkSources looks, in the source of the plugin, at all that its hooks may call, for
// what a network must not depend on. Running the hooks does not show that: no test sets
// an environment variable that its author has not thought of.
func (s *suite) checkSources(found *report) {
	source, err := readSources(s.source)
	if err != nil {
		found.breach("the source of the plugin cannot be read: %v", err)
		return
	}
	if len(source.named["Render"]) == 0 {
		found.breach("the source of the plugin is not in %s; tell Run where it is: plugintest.WithSource(path)", s.source)
		return
	}
	for _, use := range source.impurities() {
		found.breach("%s, which a hook comes to, so that a network depends on more than its config and the facts; let it be told in one of these", use)
	}
}

func readSources(folder string) (*sources, error) {
	s := &sources{files: token.NewFileSet(), named: map[string][]declared{}}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != folder && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".")):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(s.files, path, nil, parser.SkipObjectResolution)
		if err == nil {
			s.add(file)
		}
		return err
	})
	return s, err
}

func (s *sources) add(file *ast.File) {
	imports := map[string]string{}
	for _, each := range file.Imports {
		path, err := strconv.Unquote(each.Path.Value)
		if err != nil {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if path == "math/rand/v2" {
			name = "rand"
		}
		if each.Name != nil {
			name = each.Name.Name
		}
		imports[name] = path
	}
	note := func(name string, node ast.Node) { s.named[name] = append(s.named[name], declared{node, imports}) }
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			note(d.Name.Name, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if values, ok := spec.(*ast.ValueSpec); ok {
					for _, name := range values.Names {
						note(name.Name, values)
					}
				}
			}
		}
	}
}

// impurities are all uses of something impure that hooks may come to, sorted.
func (s *sources) impurities() []string {
	var found []string
	seen, next := map[string]bool{}, slices.Clone(hooks)
	for len(next) > 0 {
		name := next[0]
		if next = next[1:]; seen[name] {
			continue
		}
		seen[name] = true
		for _, d := range s.named[name] {
			ast.Inspect(d.node, func(node ast.Node) bool {
				switch n := node.(type) {
				case *ast.SelectorExpr:
					from, _ := n.X.(*ast.Ident)
					if from == nil || d.imports[from.Name] == "" {
						break
					}
					if isImpure(d.imports[from.Name], n.Sel.Name) {
						at := s.files.Position(n.Pos())
						found = append(found, fmt.Sprintf("%s:%d uses %s.%s", at.Filename, at.Line, from.Name, n.Sel.Name))
					}
				case *ast.Ident:
					next = append(next, n.Name)
				}
				return true
			})
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
