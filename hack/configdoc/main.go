// SPDX-License-Identifier: Apache-2.0

// Command configdoc writes the generated parts of docs/operator-configuration.md: the
// fields of an OperatorConfiguration with the comments of their Go types and their
// defaults, and the flags of trellis-operator.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"reflect"
	"strings"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/hack/section"
)

const (
	types = "api/config/v1alpha1/types.go"
	page  = "docs/operator-configuration.md"
	root  = "OperatorConfiguration"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "configdoc:", err)
		os.Exit(1)
	}
}

func run() error {
	fields, err := fieldTable()
	if err != nil {
		return err
	}
	help, err := exec.Command("go", "run", "./cmd/trellis-operator", "--help").Output()
	if err != nil {
		return fmt.Errorf("read the flags: %w", err)
	}
	_, flags, _ := strings.Cut(string(help), "Flags:\n")
	return section.Write(page, map[string]string{"fields": fields, "flags": "```text\n" + flags + "```\n"})
}

// fieldTable returns the table of all fields that can be set, with their defaults.
func fieldTable() (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), types, nil, parser.ParseComments)
	if err != nil {
		return "", err
	}
	structs := map[string]*ast.StructType{}
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.TypeSpec); ok {
			if structure, ok := spec.Type.(*ast.StructType); ok {
				structs[spec.Name.Name] = structure
			}
		}
		return true
	})
	loaded, err := configv1alpha1.Load(nil)
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(loaded)
	if err != nil {
		return "", err
	}
	defaults := map[string]any{}
	if err := json.Unmarshal(raw, &defaults); err != nil {
		return "", err
	}
	var table strings.Builder
	table.WriteString("| Field | Type | Default | Meaning |\n|---|---|---|---|\n")
	writeRows(&table, structs, root, "", defaults)
	return table.String(), nil
}

// writeRows writes a row for each field of a struct and of the structs in it.
func writeRows(table *strings.Builder, structs map[string]*ast.StructType, name, prefix string, defaults map[string]any) {
	for _, field := range structs[name].Fields.List {
		typeName := strings.TrimPrefix(expression(field.Type), "*")
		key, options, _ := strings.Cut(reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json"), ",")
		switch {
		case options == "inline" && structs[typeName] != nil:
			writeRows(table, structs, typeName, prefix, defaults)
		case options == "inline":
		case structs[typeName] != nil:
			nested, _ := defaults[key].(map[string]any)
			fmt.Fprintf(table, "| `%s` | object | | %s |\n", prefix+key, meaning(field))
			writeRows(table, structs, typeName, prefix+key+".", nested)
		default:
			value := ""
			if v := defaults[key]; v != nil && v != "" && v != "0s" {
				value = fmt.Sprintf("`%v` ", v)
			}
			value = strings.ReplaceAll(value, "m0s`", "m`")
			fmt.Fprintf(table, "| `%s` | %s | %s| %s |\n", prefix+key, wireType(typeName), value, meaning(field))
		}
	}
}

// expression returns a type as it is written.
func expression(node ast.Expr) string {
	switch node := node.(type) {
	case *ast.StarExpr:
		return "*" + expression(node.X)
	case *ast.SelectorExpr:
		return expression(node.X) + "." + node.Sel.Name
	case *ast.MapType:
		return "map of " + expression(node.Value)
	case *ast.Ident:
		return node.Name
	}
	return fmt.Sprintf("%T", node)
}

// wireType returns the name of a Go type in YAML.
func wireType(goType string) string {
	switch goType {
	case "metav1.Duration":
		return "duration"
	case "bool":
		return "boolean"
	case "int", "float32":
		return "number"
	case "Mode":
		return fmt.Sprintf("`%s`, `%s`", configv1alpha1.ModeGardener, configv1alpha1.ModeStandalone)
	case "map of bool":
		return "map of boolean"
	}
	return goType
}

// meaning returns the field's comment without its name, the verb "to be", and markers.
func meaning(field *ast.Field) string {
	var kept []string
	for line := range strings.Lines(field.Doc.Text()) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "+") {
			kept = append(kept, line)
		}
	}
	text := strings.TrimPrefix(strings.TrimSpace(strings.Join(kept, " ")), field.Names[0].Name+" ")
	text = strings.TrimPrefix(strings.TrimPrefix(text, "is "), "are ")
	return strings.ToUpper(text[:1]) + text[1:]
}
