// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/trellis-network/trellis/plugin"
)

// defaults: what Default makes of a config is complete, explained and there to stay.
func defaults(s *suite, found *report) {
	drawn := s.drawn()
	for _, n := range slices.Concat(drawn, s.networks()) {
		if found.where = n.name; n.renders() {
			checkIdempotence(s, found, n)
			checkOrigins(s, found, n)
			checkRemembered(s, found, n)
		}
	}
	for _, n := range drawn { // the first has no config
		found.where = n.name
		checkRemade(s, found, n)
		checkReplaced(s, found, n, drawn[0])
		checkReplaced(s, found, drawn[0], n)
	}
	for _, n := range s.plainNetworks() {
		if found.where = n.name; n.caseName == s.cases[0].Name {
			checkExplicit(s, found, n)
		}
	}
	for _, v := range s.values {
		checkLost(s, found, v)
	}
	for _, before := range s.plainNetworks() {
		for _, after := range s.plainNetworks() {
			// Where the infrastructure is another, a running network keeps what was right.
			if reflect.DeepEqual(before.input(), after.input()) {
				checkReplaced(s, found, before, after)
			}
		}
	}
}

func checkIdempotence(s *suite, found *report, n network) {
	config, errs := s.plugin.Decode(n.result.Config, nil)
	if len(errs) > 0 {
		found.breach("Default makes a config that cannot be decoded again; its type must accept what it writes: %v", errs.ToAggregate())
		return
	}
	s.plugin.Default(config, n.input(), &plugin.Origins{})
	if again := s.encoded(config); again != string(n.result.Config) {
		found.breach("Default changes its own result; it must not depend on what is absent:\n%s\nbecomes\n%s", n.result.Config, again)
	}
}

// checkRemade compares objects with those of the remembered config.
func checkRemade(s *suite, found *report, n network) {
	if n.config == nil {
		return
	}
	if objects, err := s.plugin.Render(n.config, n.input()); err != nil || textOfObjects(objects) != textOfObjects(n.result.Objects) && !s.unstable {
		found.breach("the objects differ once the config in force has been encoded and decoded; Render must not depend on what the type does not write, such as whether a list is empty or absent, or whether a user wrote apiVersion and kind:\n%s", n.result.Config)
	}
}

// checkOrigins finds values that are not the user's and that Default does not explain.
func checkOrigins(s *suite, found *report, n network) {
	var origins plugin.Origins
	config, _ := s.plugin.Decode(n.request.Spec.ProviderConfig.Raw, nil)
	wrote := flatten([]byte(s.encoded(config)))
	s.plugin.Default(config, n.input(), &origins)
	notes, inForce := origins.ByPath(), flatten([]byte(s.encoded(config)))
	for _, path := range slices.Sorted(maps.Keys(wrote)) {
		value := wrote[path]
		statesNothing := value == "null" || value == `""` || value == "{}"
		if _, explained := plugin.Nearest(notes, path); !statesNothing && !explained && value != inForce[path] {
			found.breach("the user's %s: %s becomes %q, and Default does not say why; note the reason with origins.Rule or origins.Infrastructure",
				path, value, inForce[path])
		}
	}
	for _, path := range slices.Sorted(maps.Keys(notes)) {
		switch {
		case !s.paths.MatchString(path):
			found.breach("Default explains %s, which is no field; write the field's path in JSON spelling", path)
		case notes[path].Reason == "":
			found.breach("Default notes %s without a reason; say why the value is what it is", path)
		}
	}
}

// checkRemembered applies the same network once more.
func checkRemembered(s *suite, found *report, n network) {
	request, result := n.request, n.result
	request.Applied = result.Applied()
	again := s.pipeline.Build(request)
	switch {
	case len(again.Errors) > 0:
		found.breach("a network that is applied once more is refused: %v", again.Errors.ToAggregate())
	case len(again.Changes) > 0:
		found.breach("a network that is applied once more changes by itself: %s", textOf(again.Changes))
	case !bytes.Equal(again.Config, result.Config):
		found.breach("a network that is applied once more has another config:\n%s\nand then\n%s", result.Config, again.Config)
	}
}

// checkReplaced replaces one network by another, which must leave nothing behind.
func checkReplaced(s *suite, found *report, before, after network) {
	request := after.request
	request.Applied = before.result.Applied()
	changed := s.pipeline.Build(request)
	if len(changed.Errors) == 0 && !bytes.Equal(changed.Config, after.result.Config) { // else the change is forbidden
		found.where = fmt.Sprintf("%s\nafter %s", after.name, before.name)
		found.breach("what was in force before stays in force, although neither the config nor a rule states it any more; note with origins.Rule what follows from other values:\n%s\nis there and in a new network\n%s",
			changed.Config, after.result.Config)
	}
}

// checkExplicit finds absent values that mean a value that users could write, and defaults
// that make another network if a user states them.
func checkExplicit(s *suite, found *report, base network) {
	objects := textOfObjects(base.result.Objects)
	same, others := map[string]variant{}, map[string]variant{}
	for _, v := range s.variantsOf(base) {
		value, shown := base.inForce[v.path]
		isSame := textOfObjects(v.result.Objects) == objects
		switch {
		case shown && value == v.json && base.result.Origins[v.path].Source == plugin.FromDefault:
			if (!isSame || !bytes.Equal(v.result.Config, base.result.Config)) && !s.unstable {
				found.breach("%s: %s is the default, and a user who states it gets another network; Default and Render must not depend on where the value comes from", v.path, v.json)
			}
		case shown:
		case !isSame:
			others[v.path] = v
		case v.inForce[v.path] == v.json:
			same[v.path] = v
		}
	}
	for _, path := range slices.Sorted(maps.Keys(same)) {
		if other, differs := others[path]; differs && !s.unstable && alwaysMeans(s, same[path]) {
			found.breach("%s is absent from what is in force, and the objects are those of %s, not of %s; fill it in in Default, so that users see it and running networks keep it",
				path, same[path].json, other.json)
		}
	}
}

// alwaysMeans reports whether a value and none are the same in all other networks of the
// first cluster as well. Else the field has a state more than its type has values.
func alwaysMeans(s *suite, v variant) bool {
	for _, base := range slices.Concat(s.plainNetworks(), s.varied()) {
		_, shown := base.inForce[v.path]
		if base.cluster.name != clustersFor(s.plugin)[0].name || shown {
			continue
		}
		if one := s.with(base, v.path, v.json); one.renders() && textOfObjects(one.result.Objects) != textOfObjects(base.result.Objects) {
			return false
		}
	}
	return true
}

// empty are the values that omitempty leaves out, by kind.
var empty = map[reflect.Kind]string{reflect.Bool: "false", reflect.Slice: "[]", reflect.Map: "{}", reflect.Int: "0", reflect.Float64: "0"}

// checkLost finds a value of a user that gets lost when the config is encoded: omitempty
// leaves out false, 0 and empty lists, which so have to mean the same as an absent field.
func checkLost(s *suite, found *report, v value) {
	empty := empty[v.kind]
	stated, absent := v.document(empty), v.in.around("{}")
	if empty == "" || rewritten(s, stated) != rewritten(s, absent) {
		return // it is remembered
	}
	in := clustersFor(s.plugin)[0]
	found.where = where(stated, in)
	if got := outcome(s, stated, in); got != "" && got != outcome(s, absent, in) && !s.unstable {
		found.breach("%s: %s makes another network than no %s, and gets lost where it is remembered, since omitempty leaves it out; leave out omitempty, make the field a pointer, or give both the same meaning",
			v.path, empty, v.path)
		return
	}
	// Users also see another value in force than theirs. Empty maps state nothing.
	n := s.buildWith(stated, in)
	inForce, is := n.inForce[v.path]
	if is && inForce != empty && !v.inList() && empty != "{}" && n.renders() && n.result.Origins[v.path].Source == plugin.FromDefault {
		found.breach("the user's %s: %s becomes %s without a reason, since omitempty leaves it out; leave out omitempty, or make the field a pointer", v.path, empty, inForce)
	}
}

func rewritten(s *suite, config string) string {
	decoded, _ := s.plugin.Decode([]byte(config), nil)
	return s.encoded(decoded)
}

// outcome is what hooks make of a config without encoding it; empty if they refuse it.
func outcome(s *suite, config string, in cluster) string {
	input := in.input(s.plugin.FeatureGates, nil)
	written, errs := s.plugin.Decode([]byte(config), configPath)
	effective, moreErrs := s.plugin.Decode([]byte(config), configPath)
	if len(errs)+len(moreErrs) > 0 {
		return ""
	}
	objects, refused, err := s.hooks(written, effective, &input, func(_ string, call func()) { call() })
	if len(refused) > 0 || err != nil {
		return ""
	}
	return s.encoded(effective) + textOfObjects(objects)
}
