// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// decoding: what does not fit the type is refused, with its path.
func decoding(s *suite, found *report) {
	for _, b := range s.blocks {
		mustRefuse(s, found, b.around(`{"noSuchField":true}`), "noSuchField", "a field that does not exist")
		if b.path != "" && !strings.HasSuffix(b.path, "[]") {
			mustRefuse(s, found, b.around(list), b.path[strings.LastIndex(b.path, ".")+1:], "a list for an object")
		}
	}
	for _, v := range s.values {
		wrongs, known := wrongFor[v.kind]
		if !known {
			wrongs = []string{list}
		}
		for _, wrong := range wrongs {
			mustRefuse(s, found, v.document(wrong), v.name, fmt.Sprintf("%s for a value of another type", wrong))
		}
		mustRefuse(s, found, v.in.around(fmt.Sprintf(`{%q:null,%q:null}`, v.name, v.name)), v.name, "a duplicate field")
		if shouted := strings.ToUpper(v.name); shouted != v.name {
			mustRefuse(s, found, v.in.around(fmt.Sprintf(`{%q:null}`, shouted)), shouted, "a field in another letter case")
		}
	}
	mustRefuse(s, found, `{"apiVersion":"no.such.group/v1"}`, "apiVersion", "an apiVersion that does not exist")
	mustRefuse(s, found, `{"kind":"NoSuchKind"}`, "kind", "a kind that does not exist")
	for _, garbage := range []string{"[]", "7", `"text"`, "true", "{", `{"a":`, `{"a"}`, "\x00", strings.Repeat("[", 100)} {
		mustRefuse(s, found, garbage, "", "what is no object")
	}
	found.where = ""
	for _, nothing := range []string{"", "null", "{}", `{"apiVersion":"","kind":""}`} {
		if _, errs := s.plugin.Decode([]byte(nothing), field.NewPath("config")); len(errs) > 0 {
			found.breach("the config %q is refused, but says nothing: %v", nothing, errs.ToAggregate())
		}
	}
}

// mustRefuse decodes a config that is wrong in one field.
func mustRefuse(s *suite, found *report, config, name, what string) {
	found.where = "the config " + config
	_, errs := s.plugin.Decode([]byte(config), field.NewPath("config"))
	if len(errs) == 0 {
		found.breach("%s is accepted: %s; give the field a type that only has valid values, and no decoding of its own", what, config)
		return
	}
	isNamed := func(err *field.Error) bool {
		return strings.HasPrefix(err.Field, "config") && strings.Contains(err.Field, name)
	}
	if !slices.ContainsFunc(errs, isNamed) {
		found.breach("%s is refused in %s, but no error names %s: %v", what, config, name, errs.ToAggregate())
	}
}

// list is JSON that only fits lists. Maps, and what decodes itself, are none.
const list = `["a"]`

// wrongFor are values in JSON that do not fit a kind.
var wrongFor = map[reflect.Kind][]string{
	reflect.Bool:    {`"true"`, "1", list},
	reflect.String:  {"7", "true", list},
	reflect.Int:     {`"7"`, "1.5", list},
	reflect.Float64: {`"1.5"`, list},
	reflect.Slice:   {`{"noSuchField":true}`, "true"},
}

// validation: nonsense in configs is refused where it is, and other configs can be rendered.
func validation(s *suite, found *report) {
	m := newMutator(s)
	for range mutations {
		config := m.next()
		for _, in := range clustersFor(s.plugin) {
			// Without anything special about a cluster, errors can only be about the config.
			if in.isPlain() || m.chance(20) {
				try(s, found, config, in)
			}
		}
	}
}

// try checks a config as the pipeline does, without the errors of the Network itself.
func try(s *suite, found *report, config string, in cluster) {
	found.where = where(config, in)
	written, errs := s.plugin.Decode([]byte(config), configPath)
	if len(errs) > 0 {
		return // which is the check decoding
	}
	effective, err := s.plugin.Clone(written)
	if err != nil {
		found.breach("%s cannot be copied: %v", config, err)
		return
	}
	input := in.input(s.plugin.FeatureGates, nil)
	_, refused, err := s.hooks(written, effective, &input, func(_ string, call func()) { call() })
	if err != nil {
		found.breach("a config is accepted and cannot be rendered; refuse it in Validate or ValidateEffective: %v", err)
	}
	for _, err := range refused {
		inside, isInside := strings.CutPrefix(err.Field, configPath.String()+".")
		switch {
		case err.Detail == "" && err.Type != field.ErrorTypeNotSupported:
			found.breach("the error %q does not say what is allowed; give it a detail", err)
		case in.isPlain() && !isInside:
			found.breach("the error %q does not name a field inside of %s; begin with the path that the hook is given", err, configPath)
		case isInside && !s.paths.MatchString(inside):
			found.breach("the error %q names %s, which is no field; write the field's path in JSON spelling", err, inside)
		}
	}
}
