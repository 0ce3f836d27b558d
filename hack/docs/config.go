// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/hack/section"
)

// writeConfiguration writes the fields of an OperatorConfiguration, with the comments of
// their Go types and their defaults, and the flags of trellis-operator.
func writeConfiguration() error {
	const page = "docs/operator-configuration.md"
	comments, err := fieldComments("api/config/v1alpha1/types.go")
	if err != nil {
		return err
	}
	defaults, err := configv1alpha1.Load(nil)
	if err != nil {
		return err
	}
	var table strings.Builder
	table.WriteString("| Field | Type | Default | Meaning |\n|---|---|---|---|\n")
	writeRows(&table, comments, "", reflect.ValueOf(*defaults))
	help, err := exec.Command("go", "run", "./cmd/trellis-operator", "--help").Output()
	if err != nil {
		return fmt.Errorf("read the flags: %w", err)
	}
	_, flags, _ := strings.Cut(string(help), "Flags:\n")
	return cmp.Or(section.Write(page, "fields", table.String()), section.Write(page, "flags", "```text\n"+flags+"```\n"))
}

// fieldComments returns the comments of all fields in a Go file, by TYPE.FIELD.
func fieldComments(name string) (map[string]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	comments := map[string]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if structure, ok := spec.Type.(*ast.StructType); ok {
			for _, field := range structure.Fields.List {
				for _, fieldName := range field.Names {
					comments[spec.Name.Name+"."+fieldName.Name] = field.Doc.Text()
				}
			}
		}
		return false
	})
	return comments, nil
}

// writeRows writes a row for each field of a struct and of the structs in it.
func writeRows(table *strings.Builder, comments map[string]string, prefix string, structure reflect.Value) {
	for field, value := range structure.Fields() {
		key, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		typeName, preset := wireType(field.Type), ""
		switch {
		case field.Type == reflect.TypeFor[metav1.TypeMeta]():
			continue
		case options == "inline":
			writeRows(table, comments, prefix, value)
			continue
		case typeName != "object" && !value.IsZero():
			raw, _ := json.Marshal(value.Interface()) // a configuration is written as JSON
			preset = strings.ReplaceAll("`"+strings.Trim(string(raw), `"`)+"` ", "m0s`", "m`")
		}
		fmt.Fprintf(table, "| `%s` | %s | %s| %s |\n", prefix+key, typeName, preset,
			described(field.Name, comments[structure.Type().Name()+"."+field.Name]))
		if typeName == "object" {
			writeRows(table, comments, prefix+key+".", value)
		}
	}
}

// wireType returns the name of a Go type in YAML.
func wireType(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[metav1.Duration]():
		return "duration"
	case t == reflect.TypeFor[configv1alpha1.Mode]():
		return fmt.Sprintf("`%s`, `%s`", configv1alpha1.ModeGardener, configv1alpha1.ModeStandalone)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return wireType(t.Elem())
	case reflect.Struct:
		return "object"
	case reflect.Slice:
		return "list of " + wireType(t.Elem())
	case reflect.Map:
		return "map of " + wireType(t.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Float32:
		return "number"
	}
	return t.Name()
}

// described returns a field's comment without its name, the verb "to be", and markers.
func described(name, comment string) string {
	comment, _, _ = strings.Cut(comment, "\n+")
	text := strings.TrimPrefix(strings.Join(strings.Fields(comment), " "), name+" ")
	text = strings.TrimPrefix(strings.TrimPrefix(text, "is "), "are ")
	return strings.ToUpper(text[:1]) + text[1:]
}
