// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// suite is one plugin under test.
type suite struct {
	plugin   plugin.Plugin
	pipeline *pipeline.Pipeline
	// config is the type of the plugin's config, and the blocks and values in it.
	config reflect.Type
	blocks []block
	values []value

	cases          []Case
	apiServer      *rest.Config
	wildcards      map[string]string
	missing        map[string]string
	needsKubeProxy bool
	readme         string
	source         string

	// watched are the workloads that notice changes of a ConfigMap, with the reason.
	watched map[watching]string

	// given are the classes that Classify gave.
	given map[given]bool

	// missed are the objects that something refers to in vain.
	missed map[string]bool

	// networks are all cases in all clusters, and documents what they consist of.
	networks  func() []network
	documents func() []document
	// drawn and varied are networks of the first cluster that no case is about.
	drawn  func() []network
	varied func() []network
	// isStable reports whether networks come out the same each time. Where they do not, of
	// which the promise determinism tells, what differs does not say why.
	isStable func() bool
}

func newSuite(p plugin.Plugin, options []Option) (*suite, error) {
	s := &suite{
		plugin: p, cases: []Case{{Name: "no config"}}, readme: "README.md", source: ".",
		wildcards: map[string]string{}, missing: map[string]string{}, missed: map[string]bool{},
		watched: map[watching]string{}, given: map[given]bool{},
	}
	for _, one := range options {
		one.apply(s)
	}
	names := map[string]bool{}
	for _, c := range s.cases {
		if names[c.Name] {
			return nil, fmt.Errorf("two cases are named %q; give each a name of its own", c.Name)
		}
		names[c.Name] = true
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
	s.networks = sync.OnceValue(s.buildAll)
	s.documents = sync.OnceValue(s.documentsOfAll)
	s.drawn = sync.OnceValue(s.drawAll)
	s.varied = sync.OnceValue(s.varyFirst)
	s.isStable = sync.OnceValue(s.buildAgain)
	return s, nil
}

// judge looks whether a promise is kept. A panic of the plugin breaks it.
func (s *suite) judge(p promise) *report {
	found := &report{}
	func() {
		defer found.survive("")
		p.keep(s, found)
	}()
	return found
}

// network is a case in a cluster, and what it comes to.
type network struct {
	name, caseName string
	cluster        cluster
	request        pipeline.Request
	result         pipeline.Result
}

// renders reports whether there are objects.
func (n *network) renders() bool { return len(n.result.Errors) == 0 }

// plainNetworks are those with objects in clusters that nothing is special about.
func (s *suite) plainNetworks() []network {
	var plain []network
	for _, n := range s.networks() {
		if n.cluster.isPlain() && n.renders() {
			plain = append(plain, n)
		}
	}
	return plain
}

func (s *suite) buildAll() []network {
	var all []network
	for _, c := range s.cases {
		for _, in := range s.clusters() {
			request := s.request(c, in)
			all = append(all, network{
				name: fmt.Sprintf("case %q in a cluster with %s", c.Name, in.name), caseName: c.Name, cluster: in,
				request: request, result: s.pipeline.Build(request),
			})
		}
	}
	return all
}

// request is for a case in a cluster, each time with facts of its own.
func (s *suite) request(c Case, in cluster) pipeline.Request {
	facts := in.input(s.plugin.FeatureGates, c.In)
	request := pipeline.Request{
		Name: "network", Namespace: facts.Namespace, Author: pipeline.AuthorNetwork,
		Spec: extensionsv1alpha1.NetworkSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: s.plugin.Type},
			PodCIDR:     facts.PodCIDR, ServiceCIDR: facts.ServiceCIDR,
			IPFamilies: facts.WantedIPFamilies,
		},
		Facts: facts.Facts, Environment: facts.Environment, MaxUnavailable: strconv.Itoa(atATime),
	}
	if c.Config != "" {
		request.Spec.ProviderConfig = &runtime.RawExtension{Raw: jsonOf(c.Config)}
	}
	return request
}

// inputOf is what hooks get for a Request.
func inputOf(request *pipeline.Request) *plugin.Input {
	return &plugin.Input{
		Facts: request.Facts, Environment: request.Environment,
		Decisions: plugin.Decisions{MaxUnavailable: atATime, FromAnnotation: true},
	}
}

// jsonOf is a config as JSON. That it is YAML has been checked.
func jsonOf(config string) []byte {
	raw, err := yaml.YAMLToJSON([]byte(config))
	if err != nil {
		panic(err)
	}
	return raw
}

// configOf is the config that a Request has.
func configOf(request *pipeline.Request) []byte {
	if request.Spec.ProviderConfig == nil {
		return nil
	}
	return request.Spec.ProviderConfig.Raw
}

// encoded is a config as the test author can read it.
func (s *suite) encoded(config any) string {
	raw, err := s.plugin.Encode(config)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// textOf is anything as JSON.
func textOf(anything any) string {
	raw, err := json.Marshal(anything)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// isDefect reports whether there is an error that is the plugin's and not the user's.
func isDefect(errs field.ErrorList) *field.Error {
	for _, err := range errs {
		if err.Type == field.ErrorTypeInternal {
			return err
		}
	}
	return nil
}
