// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// suite is one plugin under test.
type suite struct {
	plugin   plugin.Plugin
	pipeline *pipeline.Pipeline
	// blocks and values are the parts of the config, and paths matches the paths of all.
	blocks []block
	values []value
	paths  *regexp.Regexp

	cases          []Case // with their Config as JSON
	apiServer      *rest.Config
	needsKubeProxy bool
	readme         string
	// reasons are those of the test author for exceptions, by the option that has them.
	// needed are the exceptions without which there would be a problem.
	reasons map[string]string
	needed  sets.Set[string]

	// unstable reports that a network differs from one build to the next, so that what
	// differs between two networks shows nothing.
	unstable bool

	// networks are all cases in all clusters. drawn and varied are networks of the first
	// cluster that are in no case.
	networks, drawn, varied func() []network
	documents               func() []document // of networks
}

func newSuite(p plugin.Plugin, options []Option) (*suite, error) {
	s := &suite{
		plugin: p, cases: []Case{{Name: "no config"}}, readme: "README.md",
		reasons: map[string]string{}, needed: sets.New[string](),
	}
	for _, one := range options {
		one.apply(s)
	}
	names := sets.New[string]()
	for i, c := range s.cases {
		raw, err := yaml.YAMLToJSON([]byte(c.Config))
		switch {
		case names.Has(c.Name):
			return nil, fmt.Errorf("two cases are named %q; give each a name of its own", c.Name)
		case err != nil:
			return nil, fmt.Errorf("the config of case %q is not YAML: %w", c.Name, err)
		case c.Config != "":
			s.cases[i].Config = string(raw)
		}
		names.Insert(c.Name)
	}
	var err error
	if s.pipeline, err = pipeline.New([]plugin.Plugin{p}, nil); err != nil {
		return nil, err
	}
	config, errs := p.Decode(nil, nil)
	if len(errs) > 0 {
		return nil, fmt.Errorf("a network without config must be possible: %w", errs.ToAggregate())
	}
	s.blocks, s.values = partsOf(reflect.TypeOf(config).Elem())
	s.paths = pathsOf(s.blocks, s.values)
	s.networks, s.documents = sync.OnceValue(s.allNetworks), sync.OnceValue(s.allDocuments)
	s.drawn, s.varied = sync.OnceValue(s.drawnNetworks), sync.OnceValue(s.variedNetworks)
	return s, nil
}

// breachUnless notes a problem unless the test author justifies it, with the option to do so.
func (s *suite) breachUnless(exception string, found *report, format string, args ...any) {
	s.needed.Insert(exception)
	if _, justified := s.reasons[exception]; !justified {
		found.breach("%s: plugintest.%s, reason)", fmt.Sprintf(format, args...), strings.TrimSuffix(exception, ")"))
	}
}

// checkJustifications finds those of an option that are not needed, or have no reason.
func checkJustifications(s *suite, found *report, option, notNeeded string) {
	for _, exception := range slices.Sorted(maps.Keys(s.reasons)) {
		switch {
		case !strings.HasPrefix(exception, option+"("):
		case strings.TrimSpace(s.reasons[exception]) == "":
			found.breach("%s gives no reason", exception)
		case !s.needed.Has(exception):
			found.breach("%s justifies nothing; remove it, since %s", exception, notNeeded)
		}
	}
}

// configPath is the path of configs for hooks: in a Shoot, so that plugins are found which
// write the path of a Network into their errors.
var configPath = field.NewPath("spec", "networking", "providerConfig")

// hooks calls what the pipeline calls for a new network, in that order, up to the hook
// that refuses it. Each call is made by around.
func (s *suite) hooks(written, effective any, in *plugin.Input, around func(hook string, call func())) (objects plugin.Objects, refused field.ErrorList, err error) {
	around("Validate", func() { refused = s.plugin.Validate(written, in, configPath).Errors })
	if len(refused) == 0 {
		around("Default", func() { s.plugin.Default(effective, in, &plugin.Origins{}) })
		around("ValidateEffective", func() { refused = s.plugin.ValidateEffective(effective, written, in, configPath).Errors })
	}
	if len(refused) > 0 {
		return objects, refused, nil
	}
	around("Classify", func() {
		for _, v := range s.values {
			s.plugin.Classify(v.path, written, effective, in, in)
		}
		for _, fact := range plugin.AllFacts() {
			s.plugin.Classify(string(fact), effective, effective, in, in)
		}
	})
	around("Transition", func() {
		s.plugin.Transition(written, effective, in, in)
		s.plugin.Transition(effective, effective, in, in)
	})
	around("Exchange", func() { s.plugin.Exchange(effective, in, configPath) })
	around("RouteNatively", func() {
		if clone, err := s.plugin.Clone(written); err == nil {
			s.plugin.RouteNatively(clone)
		}
	})
	around("Render", func() { objects, err = s.plugin.Render(effective, in) })
	around("Precondition", func() { s.plugin.Precondition(effective, in) })
	return objects, nil, err
}

// encoded is a config as the test author can read it.
func (s *suite) encoded(config any) string { return orError(s.plugin.Encode(config)) }

// textOf is anything as JSON.
func textOf(anything any) string { return orError(json.Marshal(anything)) }

func orError(raw []byte, err error) string {
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// flatten returns the values of a config by path, as JSON. Lists are values; an empty
// object is one too. apiVersion and kind are not part of it.
func flatten(config []byte) map[string]string {
	leaves := map[string]string{}
	collect(leaves, "", config)
	delete(leaves, "apiVersion")
	delete(leaves, "kind")
	return leaves
}

func collect(into map[string]string, path string, config json.RawMessage) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(config, &fields); err == nil && len(fields) > 0 {
		for name, inner := range fields {
			collect(into, strings.TrimPrefix(path+"."+name, "."), inner)
		}
	} else if path != "" {
		into[path] = string(config)
	}
}
