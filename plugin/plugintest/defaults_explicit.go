// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"bytes"
	"maps"
	"reflect"
	"slices"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// checkExplicit looks whether what is in force is all there is: whether a value that is
// absent means one of the values that users could write, and whether a default that a
// user states makes the network that it makes by itself.
func (s *suite) checkExplicit(found *report, base network, variants []variant) {
	objects, inForce := objectsOf(base.result.Objects), flatten(base.result.Config)
	same, others := map[string]variant{}, map[string]variant{}
	for _, v := range variants {
		got := objectsOf(v.result.Objects)
		value, shown := inForce[v.path]
		switch {
		case shown && value == v.json && base.result.Origins[v.path].Source == plugin.FromDefault:
			if (got != objects || !bytes.Equal(v.result.Config, base.result.Config)) && s.isStable() {
				found.breachIn(base.name, "%s: %s is the default, and a user who states it gets another network; let Default and Render go by the value, whoever said it", v.path, v.json)
			}
		case shown:
		case got != objects:
			others[v.path] = v
		case flatten(v.result.Config)[v.path] == v.json:
			same[v.path] = v
		}
	}
	for _, path := range slices.Sorted(maps.Keys(same)) {
		if other, differs := others[path]; differs && s.alwaysMeans(same[path]) && s.isStable() {
			found.breachIn(base.name, "%s is absent from what is in force, and the objects are those of %s, not of %s; fill it in in Default, so that users see it and running networks keep it",
				path, same[path].json, other.json)
		}
	}
}

// alwaysMeans reports whether a value and none are the same in all other networks of the
// first cluster as well. Else the field has a state more than its type has values.
func (s *suite) alwaysMeans(v variant) bool {
	for _, base := range slices.Concat(s.plainNetworks(), s.varied()) {
		_, shown := flatten(base.result.Config)[v.path]
		if base.cluster.name != s.clusters()[0].name || shown {
			continue
		}
		if one, ok := s.with(base, v.path, v.json); ok && objectsOf(one.result.Objects) != objectsOf(base.result.Objects) {
			return false
		}
	}
	return true
}

// checkLost looks for values that users can write and that get lost when the config is
// encoded. A field with omitempty that is false, 0 or an empty list is left out, and so
// has to mean the same as an absent one.
func (s *suite) checkLost(found *report) {
	in := s.clusters()[0]
	for _, v := range s.values {
		empty := emptyOf(v.typ)
		if empty == "" {
			continue
		}
		stated, absent := v.document(empty), v.in.around("{}")
		if s.rewritten(stated) != s.rewritten(absent) {
			continue // it is remembered
		}
		got, possible := s.outcome(found, stated, in)
		if without, _ := s.outcome(found, absent, in); possible && got != without && s.isStable() {
			found.breachIn(where(stated, in), "%s: %s makes another network than no %s, and gets lost where it is remembered, since omitempty leaves it out; leave out omitempty, make the field a pointer, or let both mean the same",
				v.path, empty, v.path)
			continue
		}
		s.checkReplacedSilently(found, v, empty, in)
	}
}

// emptyOf is a value of a type that omitempty leaves out; none for types of which an
// empty one says nothing.
func emptyOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "false"
	case reflect.Slice:
		return "[]"
	case reflect.Map:
		return "{}"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return "0"
	default:
		return ""
	}
}

// rewritten is a config once it has been decoded and encoded.
func (s *suite) rewritten(config string) string {
	decoded, errs := s.plugin.Decode([]byte(config), nil)
	if len(errs) > 0 {
		return config
	}
	return s.encoded(decoded)
}

// checkReplacedSilently looks for another value in force than the one that gets lost.
// Empty maps state nothing.
func (s *suite) checkReplacedSilently(found *report, v value, empty string, in cluster) {
	if v.inList || empty == "{}" {
		return
	}
	result := s.pipeline.Build(s.request(Case{Config: v.document(empty)}, in))
	inForce, is := flatten(result.Config)[v.path]
	if is && inForce != empty && len(result.Errors) == 0 && result.Origins[v.path].Source == plugin.FromDefault {
		found.breach("the user's %s: %s becomes %s, and nobody can say why, since omitempty leaves it out; leave out omitempty, or make the field a pointer", v.path, empty, inForce)
	}
}

// outcome is what hooks make of a config if it is not encoded in between, and whether it
// is possible.
func (s *suite) outcome(found *report, config string, in cluster) (text string, possible bool) {
	defer found.survive(where(config, in))
	facts := in.input(s.plugin.FeatureGates, nil)
	written, errs := s.plugin.Decode([]byte(config), configPath)
	effective, moreErrs := s.plugin.Decode([]byte(config), configPath)
	if len(errs)+len(moreErrs) > 0 || len(s.plugin.Validate(written, &facts, configPath).Errors) > 0 {
		return "", false
	}
	s.plugin.Default(effective, &facts, &plugin.Origins{})
	if len(s.plugin.ValidateEffective(effective, written, &facts, configPath).Errors) > 0 {
		return "", false
	}
	objects, err := s.plugin.Render(effective, &facts)
	if err != nil {
		return "", false
	}
	return s.encoded(effective) + objectsOf(objects), true
}

// objectsOf are all objects as they are written.
func objectsOf(objects plugin.Objects) string {
	var all bytes.Buffer
	for _, group := range groupsOf(objects) {
		documents, err := pipeline.Documents(group)
		if err != nil {
			documents = []byte(err.Error())
		}
		all.Write(documents)
		all.WriteByte('\n')
	}
	return all.String()
}
