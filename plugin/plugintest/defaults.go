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
	for _, n := range append(drawn, s.networks()...) {
		if n.renders() {
			s.checkIdempotence(found, n)
			s.checkOrigins(found, n)
			s.checkRemembered(found, n)
		}
	}
	for _, n := range drawn { // the first has no config
		s.checkReplaced(found, n, drawn[0])
		s.checkReplaced(found, drawn[0], n)
		s.checkRemade(found, n)
	}
	for _, n := range s.plainNetworks() {
		if n.caseName == s.cases[0].Name {
			s.checkExplicit(found, n, s.variantsOf(n))
		}
	}
	s.checkLost(found)
	for _, in := range s.sameFacts() {
		for i, before := range in {
			s.checkReplaced(found, before, in[(i+1)%len(in)])
			s.checkReplaced(found, before, in[0])
		}
	}
}

// sameFacts are the plain networks in groups of which all is known the same. Where the
// infrastructure is another, a running network keeps what was right.
func (s *suite) sameFacts() [][]network {
	var groups [][]network
	for _, n := range s.plainNetworks() {
		i := slices.IndexFunc(groups, func(group []network) bool { return reflect.DeepEqual(inputOf(&group[0].request), inputOf(&n.request)) })
		if i < 0 {
			groups = append(groups, []network{n})
			continue
		}
		groups[i] = append(groups[i], n)
	}
	return groups
}

// drawAll makes networks of one cluster: the first without config, if that is possible, and
// others with random configs, which no test author would think of.
func (s *suite) drawAll() []network {
	m, in := newMutator(s), s.clusters()[0]
	configs := []string{""}
	for range mutations / 3 {
		configs = append(configs, m.next())
	}
	var all []network
	for _, config := range configs {
		request := s.request(Case{Config: config}, in)
		n := network{name: fmt.Sprintf("a cluster with %s; the config was %s", in.name, config), cluster: in, request: request}
		if n.result = s.pipeline.Build(request); n.renders() {
			all = append(all, n)
		}
	}
	return all
}

func (s *suite) checkIdempotence(found *report, n network) {
	defer found.survive(n.name)
	config, errs := s.plugin.Decode(n.result.Config, nil)
	if len(errs) > 0 {
		found.breachIn(n.name, "Default makes a config that cannot be decoded again; let the type write what it reads: %v", errs.ToAggregate())
		return
	}
	facts := inputOf(&n.request)
	s.plugin.Default(config, facts, &plugin.Origins{})
	if again := s.encoded(config); again != string(n.result.Config) {
		found.breachIn(n.name, "Default makes something else of what it has made before; let it depend on what is in force, not on what is absent:\n%s\nbecomes\n%s",
			n.result.Config, again)
	}
}

// checkRemade looks whether the objects are those of what is remembered.
func (s *suite) checkRemade(found *report, n network) {
	defer found.survive(n.name)
	config, errs := s.plugin.Decode(n.result.Config, nil)
	if len(errs) > 0 {
		return
	}
	facts := inputOf(&n.request)
	if objects, err := s.plugin.Render(config, facts); err != nil || objectsOf(objects) != objectsOf(n.result.Objects) && s.isStable() {
		found.breachIn(n.name, "what Default makes has other objects once it has been encoded and decoded; let Render go by nothing that the type does not write, such as whether a list is empty or not there, or whether somebody wrote apiVersion and kind:\n%s", n.result.Config)
	}
}

// checkOrigins looks for values that the user did not write and that the plugin does not
// explain.
func (s *suite) checkOrigins(found *report, n network) {
	defer found.survive(n.name)
	config, errs := s.plugin.Decode(configOf(&n.request), nil)
	if len(errs) > 0 {
		return
	}
	wrote := flatten([]byte(s.encoded(config)))
	var origins plugin.Origins
	facts := inputOf(&n.request)
	s.plugin.Default(config, facts, &origins)
	notes, inForce := origins.ByPath(), flatten([]byte(s.encoded(config)))
	for _, path := range slices.Sorted(maps.Keys(wrote)) {
		if isNothing(wrote[path]) || wrote[path] == inForce[path] {
			continue
		}
		if _, explained := plugin.Nearest(notes, path); !explained {
			found.breachIn(n.name, "the user's %s: %s becomes %s, and Default does not say why; note the reason with origins.Rule or origins.Infrastructure",
				path, wrote[path], orAbsent(inForce[path]))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(notes)) {
		switch {
		case !hasField(s.config, path):
			found.breach("Default explains %s, which is no field; write the field's path in JSON spelling", path)
		case notes[path].Reason == "":
			found.breach("Default notes %s without a reason; say why the value is what it is", path)
		}
	}
	for path := range inForce {
		if n.result.Origins[path].Source == "" {
			found.breachIn(n.name, "nobody knows where the value of %s comes from", path)
		}
	}
}

// checkRemembered applies the same network once more.
func (s *suite) checkRemembered(found *report, n network) {
	request := n.request
	result := n.result
	request.Applied = result.Applied()
	again := s.pipeline.Build(request)
	switch {
	case len(again.Errors) > 0:
		found.breachIn(n.name, "a network that is applied once more is refused: %v", again.Errors.ToAggregate())
	case len(again.Changes) > 0:
		found.breachIn(n.name, "a network that is applied once more changes by itself: %s", textOf(again.Changes))
	case !bytes.Equal(again.Config, result.Config):
		found.breachIn(n.name, "a network that is applied once more has another config:\n%s\nand then\n%s", result.Config, again.Config)
	}
}

// checkReplaced lets one network take the place of another. What the user does not say
// any more must leave nothing behind.
func (s *suite) checkReplaced(found *report, before, after network) {
	request := after.request
	request.Applied = before.result.Applied()
	changed := s.pipeline.Build(request)
	if len(changed.Errors) == 0 && !bytes.Equal(changed.Config, after.result.Config) { // else the change is forbidden
		found.breachIn(fmt.Sprintf("%s\nafter %s", after.name, before.name),
			"what was in force before stays in force, although neither the config nor a rule states it any more; note with origins.Rule what follows from other values:\n%s\nis there and in a new network\n%s",
			changed.Config, after.result.Config)
	}
}

// isNothing reports that a value states nothing that could be in force.
func isNothing(json string) bool { return json == "null" || json == `""` || json == "{}" }

func orAbsent(json string) string {
	if json == "" {
		return "absent"
	}
	return json
}
