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

	appsv1 "k8s.io/api/apps/v1"
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
	// config is the type of the plugin's config, blocks and values are its parts, and
	// paths matches the paths of all of them.
	config reflect.Type
	blocks []block
	values []value
	paths  *regexp.Regexp

	cases          []Case
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

	// networks are all cases in all clusters, and documents their objects.
	networks  func() []network
	documents func() []document
	// drawn and varied are networks of the first cluster that are in no case.
	drawn  func() []network
	varied func() []network
	// parsed are the workloads among documents that were looked into, by their JSON.
	parsed map[string]*appsv1.DaemonSet
}

func newSuite(p plugin.Plugin, options []Option) (*suite, error) {
	s := &suite{
		plugin: p, cases: []Case{{Name: "no config"}}, readme: "README.md",
		reasons: map[string]string{}, needed: sets.New[string](), parsed: map[string]*appsv1.DaemonSet{},
	}
	for _, one := range options {
		one.apply(s)
	}
	names := sets.New[string]()
	for _, c := range s.cases {
		if names.Has(c.Name) {
			return nil, fmt.Errorf("two cases are named %q; give each a name of its own", c.Name)
		}
		names.Insert(c.Name)
		if _, err := yaml.YAMLToJSON([]byte(c.Config)); err != nil {
			return nil, fmt.Errorf("the config of case %q is not YAML: %w", c.Name, err)
		}
	}
	var err error
	if s.pipeline, err = pipeline.New([]plugin.Plugin{p}, nil); err != nil {
		return nil, err
	}
	config, errs := p.Decode(nil, nil)
	if len(errs) > 0 {
		return nil, fmt.Errorf("a network without config must be possible: %w", errs.ToAggregate())
	}
	s.config = reflect.TypeOf(config).Elem()
	s.blocks, s.values = partsOf(s.config)
	s.paths = pathsOf(s.blocks, s.values)
	s.networks = sync.OnceValue(s.buildAll)
	s.documents = sync.OnceValue(func() []document { return documentsOf(s.networks()) })
	s.drawn = sync.OnceValue(func() []network { return drawnNetworks(s) })
	s.varied = sync.OnceValue(func() []network { return variedNetworks(s) })
	return s, nil
}

// isJustified reports whether the test author gives a reason for an exception, which is
// needed.
func (s *suite) isJustified(exception string) bool {
	s.needed.Insert(exception)
	_, is := s.reasons[exception]
	return is
}

// withReason is the call of an option that justifies an exception.
func withReason(exception string) string {
	return "plugintest." + strings.TrimSuffix(exception, ")") + ", reason)"
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

// hooks calls what the pipeline calls for a new network, in that order, up to the hook
// that refuses it. Each call is made by around.
func (s *suite) hooks(written, effective any, in *plugin.Input, path *field.Path, around func(hook string, call func())) (objects plugin.Objects, refused field.ErrorList, err error) {
	around("Validate", func() { refused = s.plugin.Validate(written, in, path).Errors })
	if len(refused) > 0 {
		return objects, refused, nil
	}
	around("Default", func() { s.plugin.Default(effective, in, &plugin.Origins{}) })
	around("ValidateEffective", func() { refused = s.plugin.ValidateEffective(effective, written, in, path).Errors })
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
	around("Render", func() { objects, err = s.plugin.Render(effective, in) })
	around("Precondition", func() { s.plugin.Precondition(effective, in) })
	return objects, nil, err
}

// encoded is a config as the test author can read it.
func (s *suite) encoded(config any) string {
	raw, err := s.plugin.Encode(config)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// jsonOf is a config as JSON. That it is YAML has been checked.
func jsonOf(config string) []byte {
	raw, err := yaml.YAMLToJSON([]byte(config))
	if err != nil {
		panic(err)
	}
	return raw
}

// textOf is anything as JSON.
func textOf(anything any) string {
	raw, err := json.Marshal(anything)
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
