// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/trellis-network/trellis/hack/section"
)

// ofAll is the title of what no section repeats.
const ofAll = "All networks"

// messageSources are the packages whose errors and warnings users see, with the title of each one's section.
var messageSources = []struct{ path, title string }{
	{"./pipeline", ofAll},
	{"./plugin", ofAll},
	{"./plugin/system", ofAll},
	{"./internal/strictjson", ofAll},
	{"./plugins/calico", "calico"},
	{"./plugins/cilium", "cilium"},
	{"./plugins/flannel", "flannel"},
	{"./internal/controller/shoot", "Shoots without Gardener"},
	{"./cli", "The command line"},
	{"./cli/internal/manifest", "The command line"},
}

// messageFields are the values that are messages themselves, by the name of their type: the field
// with the text, or none for the only one.
var messageFields = map[string]struct{ field, kind string }{
	"NetworkWarning": {"Message", "warning"},
	"userError":      {"", "error"},
}

// messageArgument is the position of the message among a function's arguments, by its name.
var messageArgument = map[string]int{
	"field.Invalid": 2, "field.Forbidden": 1, "field.Required": 1, "field.TypeInvalid": 2,
	"Warn": 1, "WarnIf": 2, "Rule": 1, "Infrastructure": 1, "wrong": 1,
}

// ownText are messages that come from the functions of package field.
var ownText = map[string]string{
	"field.NotSupported": "Unsupported value: …: supported values: …; write one of these",
	"field.Duplicate":    "Duplicate value: …; leave one of them out",
	"field.TooLong":      "Too long: may not be more than … bytes; write less",
}

// writeMessages writes docs/errors.md: each error and each warning that users get of networks, from
// the calls and the values that make them, with what to do. It fails for a message that says nothing of
// what to do.
func writeMessages() error {
	tables := map[string]map[string]bool{} // rows by section
	var failures []error
	loaded, err := loadSources()
	if err != nil {
		return err
	}
	for _, source := range messageSources {
		reader := &messageReader{pkg: loaded[source.path]}
		for _, call := range reader.calls() {
			rows := tables[source.title+" "+call.kind]
			if rows == nil {
				rows = map[string]bool{}
				tables[source.title+" "+call.kind] = rows
			}
			for _, message := range call.messages {
				row, err := rowOf(call.kind, message)
				if err != nil {
					failures = append(failures, fmt.Errorf("%s: %w", call.at, err))
				}
				rows[row] = true
			}
		}
	}
	var page strings.Builder
	for i, source := range messageSources {
		if i > 0 && messageSources[i-1].title == source.title {
			continue
		}
		fmt.Fprintf(&page, "## %s\n", source.title)
		for _, kind := range messageKinds {
			rows := tables[source.title+" "+kind.name]
			if len(rows) == 0 {
				continue
			}
			fmt.Fprintf(&page, "\n### %s: %s\n\n%s\n", source.title, kind.title, kind.head)
			for _, row := range slices.Sorted(maps.Keys(rows)) {
				if source.title == ofAll || !tables[ofAll+" "+kind.name][row] {
					page.WriteString(row + "\n")
				}
			}
		}
		page.WriteString("\n")
	}
	for message := range cures {
		if !used[message] {
			failures = append(failures, fmt.Errorf("no message reads %q; remove it from hack/docs/cures.go", message))
		}
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	return section.Write("docs/errors.md", "messages", strings.TrimSuffix(page.String(), "\n"))
}

// loadSources parses and checks the messageSources, by their path. What they import is taken from what
// the compiler keeps of it.
func loadSources() (map[string]*packages.Package, error) {
	var paths []string
	for _, source := range messageSources {
		paths = append(paths, source.path)
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
		packages.NeedImports | packages.NeedExportFile | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedModule}, paths...)
	if err != nil {
		return nil, err
	}
	byPath := map[string]*packages.Package{}
	for _, p := range loaded {
		for _, failure := range p.Errors {
			return nil, failure
		}
		byPath["."+strings.TrimPrefix(p.PkgPath, p.Module.Path)] = p
	}
	return byPath, nil
}

var messageKinds = []struct{ name, title, head string }{
	{"error", "errors", "| Cause | What to do |\n|---|---|"},
	{"warning", "warnings", "| Cause | What to do |\n|---|---|"},
	{"reason", "reasons why a value is not in force", "| Reason |\n|---|"},
}

// used are the messages for which a cure was taken.
var used = map[string]bool{}

// imperative begins the part of a message that says what to do.
var imperative = regexp.MustCompile(`^(or |in (a|an) [a-z ]*?network[a-zA-Z0-9 ]*? |where .*? |for single pods, )?(add|correct|create|give|have|leave|let|list|lower|make|name|omit|provide|remove|say|see|set|state|switch|turn|use|wait|write)\b`)

// colonCure matches a message that says after a colon what to do.
var colonCure = regexp.MustCompile(`^(.+): ((add|create|delete|put|set|use) .+)$`)

// rowOf returns the row of the table for a message: its cause, and what to do.
func rowOf(kind, message string) (string, error) {
	message = strings.ReplaceAll(message, "|", `\|`)
	if kind == "reason" {
		return "| " + message + " |", nil
	}
	parts := strings.Split(message, "; ")
	at := slices.IndexFunc(parts, imperative.MatchString)
	switch cure, known := cures[message]; {
	case known:
		used[message] = true
		return "| " + message + " | " + cure + " |", nil
	case at > 0:
		cure := strings.Join(parts[at:], "; ")
		return "| " + strings.Join(parts[:at], "; ") + " | " + strings.ToUpper(cure[:1]) + cure[1:] + " |", nil
	case at < 0 && colonCure.MatchString(message):
		found := colonCure.FindStringSubmatch(message)
		return "| " + found[1] + " | " + strings.ToUpper(found[2][:1]) + found[2][1:] + " |", nil
	case at == 0:
		return "| Required value | " + strings.ToUpper(message[:1]) + message[1:] + " |", nil
	}
	return "", fmt.Errorf("the message %q does not say what to do; let it, or say so in hack/docs/cures.go", message)
}

// messageReader finds the messages in a package.
type messageReader struct{ pkg *packages.Package }

type messageCall struct {
	at       token.Position
	kind     string
	messages []string
}

// calls returns the calls and the values that make messages.
func (r *messageReader) calls() []messageCall {
	var found []messageCall
	for _, file := range r.pkg.Syntax {
		ast.Inspect(file, func(node ast.Node) bool {
			if value, ok := node.(*ast.CompositeLit); ok {
				if one := r.value(value); len(one.messages) > 0 {
					found = append(found, one)
				}
			}
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := r.nameOf(call)
			one := messageCall{at: r.pkg.Fset.Position(call.Pos()), kind: "error"}
			switch {
			case strings.HasPrefix(name, "Warn"):
				one.kind = "warning"
			case name == "Rule" || name == "Infrastructure":
				one.kind = "reason"
			}
			if text, own := ownText[name]; own {
				one.messages = []string{text}
			} else if position, has := messageArgument[name]; has && position < len(call.Args) {
				one.messages = r.texts(call.Args[position], 0)
			}
			one.messages = known(one.messages)
			if len(one.messages) > 0 {
				found = append(found, one)
			}
			return true
		})
	}
	return found
}

// known leaves out messages of which nothing is known, or a field alone.
func known(messages []string) []string {
	return slices.DeleteFunc(messages, func(text string) bool { return !strings.Contains(strings.Trim(text, "… :;"), " ") })
}

// value returns the messages that a value is; none for one of another type.
func (r *messageReader) value(literal *ast.CompositeLit) messageCall {
	one := messageCall{at: r.pkg.Fset.Position(literal.Pos())}
	named, ok := types.Unalias(r.pkg.TypesInfo.TypeOf(literal)).(*types.Named)
	if !ok {
		return one
	}
	message, ok := messageFields[named.Obj().Name()]
	if !ok {
		return one
	}
	one.kind = message.kind
	for _, element := range literal.Elts {
		if pair, hasKey := element.(*ast.KeyValueExpr); !hasKey {
			one.messages = append(one.messages, r.texts(element, 0)...)
		} else if key, ok := pair.Key.(*ast.Ident); ok && key.Name == message.field {
			one.messages = append(one.messages, r.texts(pair.Value, 0)...)
		}
	}
	one.messages = known(one.messages)
	return one
}

// nameOf returns the name of a called function if it is one that makes messages.
func (r *messageReader) nameOf(call *ast.CallExpr) string {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	function, ok := r.pkg.TypesInfo.Uses[selector.Sel].(*types.Func)
	if !ok || function.Pkg() == nil {
		return ""
	}
	switch path := function.Pkg().Path(); {
	case strings.HasSuffix(path, "util/validation/field"):
		return "field." + function.Name()
	case function.Signature().Recv() == nil:
	case strings.HasSuffix(path, "trellis/plugin"), strings.HasSuffix(path, "cli/internal/manifest") && function.Name() == "wrong":
		return function.Name()
	}
	return ""
}

// deepest is how many variables and functions a text may come through.
const deepest = 6

const unknown = "…"

// texts returns the texts that an expression can have. What only shows when the program runs is
// an ellipsis.
func (r *messageReader) texts(expression ast.Expr, depth int) []string {
	if value := r.pkg.TypesInfo.Types[expression].Value; value != nil && value.Kind() == constant.String {
		return []string{constant.StringVal(value)}
	}
	if depth > deepest {
		return []string{unknown}
	}
	switch e := expression.(type) {
	case *ast.ParenExpr:
		return r.texts(e.X, depth)
	case *ast.BinaryExpr:
		var both []string
		for _, left := range r.texts(e.X, depth+1) {
			for _, right := range r.texts(e.Y, depth+1) {
				both = append(both, left+right)
			}
		}
		return both
	case *ast.CallExpr:
		if selector, ok := e.Fun.(*ast.SelectorExpr); ok {
			switch types.ExprString(selector) {
			case "fmt.Sprintf", "fmt.Errorf":
				return r.formatted(e, depth)
			case "errors.New":
				return r.texts(e.Args[0], depth)
			}
		}
		if name, ok := e.Fun.(*ast.Ident); ok {
			if returned := r.returned(r.pkg.TypesInfo.Uses[name], depth+1); len(returned) > 0 {
				return returned
			}
		}
	case *ast.Ident:
		if object := r.pkg.TypesInfo.Uses[e]; object != nil {
			if found := r.valuesOf(object, depth+1); len(found) > 0 {
				return found
			}
		}
	}
	return []string{unknown}
}

// returned returns the texts that a function of the package returns, if it returns only one.
func (r *messageReader) returned(function types.Object, depth int) []string {
	var all []string
	for _, file := range r.pkg.Syntax {
		for _, declaration := range file.Decls {
			d, ok := declaration.(*ast.FuncDecl)
			if !ok || function == nil || r.pkg.TypesInfo.Defs[d.Name] != function {
				continue
			}
			ast.Inspect(d.Body, func(node ast.Node) bool {
				if statement, ok := node.(*ast.ReturnStmt); ok && len(statement.Results) == 1 {
					all = append(all, r.texts(statement.Results[0], depth)...)
				}
				return true
			})
		}
	}
	return all
}

var verb = regexp.MustCompile(`%(\[\d+\])?[-+#0-9.]*[a-zA-Z]`)

func (r *messageReader) formatted(call *ast.CallExpr, depth int) []string {
	var all []string
	for _, format := range r.texts(call.Args[0], depth+1) {
		all = append(all, verb.ReplaceAllString(format, unknown))
	}
	return all
}

// valuesOf returns the texts that are assigned to a variable of the package, or given to a
// function as its parameter.
func (r *messageReader) valuesOf(object types.Object, depth int) []string {
	var all []string
	for _, file := range r.pkg.Syntax {
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					name, ok := left.(*ast.Ident)
					if !ok || r.objectOf(name) != object || len(n.Lhs) != len(n.Rhs) {
						continue
					}
					if n.Tok != token.ADD_ASSIGN { // what is appended is no message
						all = append(all, r.texts(n.Rhs[i], depth)...)
					}
				}
			case *ast.FuncDecl:
				all = append(all, r.given(object, r.pkg.TypesInfo.Defs[n.Name], n.Type, depth)...)
			}
			if assign, ok := node.(*ast.AssignStmt); ok && len(assign.Lhs) == len(assign.Rhs) {
				for i, right := range assign.Rhs {
					literal, isFunction := right.(*ast.FuncLit)
					if name, ok := assign.Lhs[i].(*ast.Ident); ok && isFunction {
						all = append(all, r.given(object, r.objectOf(name), literal.Type, depth)...)
					}
				}
			}
			return true
		})
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (r *messageReader) objectOf(name *ast.Ident) types.Object {
	if object := r.pkg.TypesInfo.Defs[name]; object != nil {
		return object
	}
	return r.pkg.TypesInfo.Uses[name]
}

// given returns the texts that the callers of a function give to one of its parameters.
func (r *messageReader) given(parameter, function types.Object, signature *ast.FuncType, depth int) []string {
	position := -1
	i := 0
	for _, list := range signature.Params.List {
		for _, name := range list.Names {
			if r.pkg.TypesInfo.Defs[name] == parameter {
				position = i
			}
			i++
		}
	}
	if position < 0 || function == nil {
		return nil
	}
	var all []string
	for _, file := range r.pkg.Syntax {
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || position >= len(call.Args) {
				return true
			}
			var called types.Object
			switch f := call.Fun.(type) {
			case *ast.Ident:
				called = r.pkg.TypesInfo.Uses[f]
			case *ast.SelectorExpr:
				called = r.pkg.TypesInfo.Uses[f.Sel]
			}
			if called == function {
				all = append(all, r.texts(call.Args[position], depth)...)
			}
			return true
		})
	}
	return all
}
