// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// decoding: what does not fit the type is refused, with its path.
func decoding(s *suite, found *report) {
	for _, b := range s.blocks {
		s.mustRefuse(found, b.around(`{"noSuchField":true}`), "noSuchField", "a field that there is not")
		if b.path != "" && !strings.HasSuffix(b.path, "[]") {
			name := b.path[strings.LastIndex(b.path, ".")+1:]
			s.mustRefuse(found, b.around(`["a"]`), name, "a list for an object")
		}
	}
	for _, v := range s.values {
		for _, wrong := range wrongFor(v.typ) {
			s.mustRefuse(found, v.document(wrong), v.name, fmt.Sprintf("%s for a value of another type", wrong))
		}
		s.mustRefuse(found, v.in.around(fmt.Sprintf(`{%q:null,%q:null}`, v.name, v.name)), v.name, "a field that is there twice")
		if shouted := strings.ToUpper(v.name); shouted != v.name {
			s.mustRefuse(found, v.in.around(fmt.Sprintf(`{%q:null}`, shouted)), shouted, "a field in another letter case")
		}
	}
	s.mustRefuse(found, `{"apiVersion":"no.such.group/v1"}`, "apiVersion", "an apiVersion that there is not")
	s.mustRefuse(found, `{"kind":"NoSuchKind"}`, "kind", "a kind that there is not")
	for _, garbage := range []string{"[]", "7", `"text"`, "true", "{", `{"a":`, `{"a"}`, "\x00", strings.Repeat("[", 100)} {
		s.mustRefuse(found, garbage, "", "what is no object")
	}
	for _, nothing := range []string{"", "null", "{}", `{"apiVersion":"","kind":""}`} {
		if _, errs := s.plugin.Decode([]byte(nothing), field.NewPath("config")); len(errs) > 0 {
			found.breach("the config %q is refused, but says nothing: %v", nothing, errs.ToAggregate())
		}
	}
}

// mustRefuse decodes a config that is wrong in one field.
func (s *suite) mustRefuse(found *report, config, name, what string) {
	defer found.survive("the config " + config)
	_, errs := s.plugin.Decode([]byte(config), field.NewPath("config"))
	if len(errs) == 0 {
		found.breach("%s is accepted: %s; let the type of the field say all that may stand there, and leave decoding to it", what, config)
		return
	}
	for _, err := range errs {
		if strings.HasPrefix(err.Field, "config") && strings.Contains(err.Field, name) {
			return
		}
	}
	found.breach("%s is refused in %s, but no error names %s: %v", what, config, name, errs.ToAggregate())
}

// wrongFor are values in JSON that do not fit a type.
func wrongFor(t reflect.Type) []string {
	switch t.Kind() {
	case reflect.Bool:
		return []string{`"true"`, "1", `["a"]`}
	case reflect.String:
		return []string{"7", "true", `["a"]`}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return []string{`"7"`, "1.5", `["a"]`}
	case reflect.Float32, reflect.Float64:
		return []string{`"1.5"`, `["a"]`}
	case reflect.Slice, reflect.Array:
		return []string{`{"noSuchField":true}`, "true"}
	default: // maps, and what decodes itself
		return []string{`["a"]`}
	}
}
