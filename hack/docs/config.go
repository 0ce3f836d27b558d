// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os/exec"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

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
	defaults, err := configv1alpha1.Load([]byte("controllers: {network: {rolloutStrategy: {}}}"))
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

// fieldComments returns the comments of all fields in a Go file, by type and key.
func fieldComments(name string) (map[string]string, error) {
	types, err := runtime.ParseDocumentationFrom(name)
	comments := map[string]string{}
	for _, each := range types {
		for _, field := range each[1:] { // the first one is the type itself
			comments[each[0].Name+"."+field.Name] = strings.ReplaceAll(field.Doc, `\"`, `"`)
		}
	}
	return comments, err
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
			preset = strings.ReplaceAll(preset, "h0m`", "h`")
		}
		meaning := withoutName(field.Name, strings.TrimSpace(comments[structure.Type().Name()+"."+key]))
		fmt.Fprintf(table, "| `%s` | %s | %s| %s |\n", prefix+key, typeName, preset, strings.ToUpper(meaning[:1])+meaning[1:])
		switch typeName {
		case "object":
			writeRows(table, comments, prefix+key+".", reflect.Indirect(value))
		case "list of object":
			writeRows(table, comments, prefix+key+"[].", reflect.New(field.Type.Elem()).Elem())
		}
	}
}

// wireType returns the name of a Go type in YAML.
func wireType(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[metav1.Duration]():
		return "duration"
	case t == reflect.TypeFor[intstr.IntOrString]():
		return "number or string"
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

// withoutName returns a field's comment without its name and the verb "to be".
func withoutName(name, comment string) string {
	comment = strings.TrimPrefix(comment, name+" ")
	return strings.TrimPrefix(strings.TrimPrefix(comment, "is "), "are ")
}
