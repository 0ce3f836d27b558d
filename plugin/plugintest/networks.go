// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// network is a case in a cluster, and what the pipeline makes of it.
type network struct {
	name, caseName string
	cluster        cluster
	request        pipeline.Request
	result         pipeline.Result
	// config is what is in force; nil if it cannot be decoded.
	config any
	// written are the values that the user wrote, and inForce those in force, by path and
	// as JSON.
	written, inForce map[string]string
}

// build makes a network for a Request.
func (s *suite) build(name, caseName string, in cluster, request pipeline.Request) network {
	n := network{name: name, caseName: caseName, cluster: in, request: request, result: s.pipeline.Build(request)}
	if config, errs := s.plugin.Decode(n.result.Config, nil); len(errs) == 0 {
		n.config = config
	}
	n.written, n.inForce = flatten(configOf(&request)), flatten(n.result.Config)
	return n
}

// buildWith makes the network of a config in a cluster.
func (s *suite) buildWith(config string, in cluster) network {
	return s.build(where(config, in), "", in, s.request(Case{Config: config}, in))
}

func where(config string, in cluster) string {
	return fmt.Sprintf("a cluster with %s; the config was %s", in.name, config)
}

func (s *suite) buildAll() []network {
	var all []network
	for _, c := range s.cases {
		for _, in := range clustersFor(s.plugin) {
			all = append(all, s.build(fmt.Sprintf("case %q in a cluster with %s", c.Name, in.name), c.Name, in, s.request(c, in)))
		}
	}
	return all
}

// plainNetworks are those with objects in clusters that nothing is special about.
func (s *suite) plainNetworks() []network {
	return slices.DeleteFunc(slices.Clone(s.networks()), func(n network) bool { return !n.cluster.isPlain() || !n.renders() })
}

// renders reports whether there are objects.
func (n *network) renders() bool { return len(n.result.Errors) == 0 }

// valueAt is a value in force, as JSON, or a fact; empty if there is none.
func (n *network) valueAt(path string) string {
	if fact := n.request.Facts.Value(plugin.Fact(path)); fact != nil {
		return fmt.Sprint(fact)
	}
	return n.inForce[path]
}

// input is what hooks get for the network, created for each call.
func (n *network) input() *plugin.Input {
	return &plugin.Input{
		Facts: n.request.Facts, Environment: n.request.Environment,
		Decisions: plugin.Decisions{MaxUnavailable: atATime, FromAnnotation: true},
	}
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

// configOf is the config that a Request has.
func configOf(request *pipeline.Request) []byte {
	if request.Spec.ProviderConfig == nil {
		return nil
	}
	return request.Spec.ProviderConfig.Raw
}

// textOfObjects are all objects as they are written.
func textOfObjects(objects plugin.Objects) string {
	var all bytes.Buffer
	for _, bundle := range objects.Bundles {
		documents, err := pipeline.Documents(bundle.Objects)
		if err != nil {
			documents = []byte(err.Error())
		}
		fmt.Fprintf(&all, "%s\n%s\n", bundle.Name, documents)
	}
	return all.String()
}
