// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

func onInfrastructure(infrastructure string) func(*spec) {
	return func(s *spec) { s.CloudProvider = infrastructure }
}

// aShootOn is a Shoot of that provider type with at most so many nodes.
func aShootOn(infrastructure string, nodes int32) *corev1beta1.Shoot {
	return shoot(func(s *corev1beta1.Shoot) {
		s.Spec.Provider.Type, s.Spec.Provider.Workers[0].Maximum = infrastructure, nodes
	})
}

func warned(result pipeline.Result) []string {
	var all []string
	for _, warning := range result.Warnings {
		all = append(all, warning.String())
	}
	return all
}

func TestTheInfrastructureIsTheShootsOrElseTheNetworks(t *testing.T) {
	p := newPipeline(t, noopPlugin{})
	for _, test := range []struct {
		name, network string
		shoot         *corev1beta1.Shoot
		want          string
		warned        []string
	}{
		{"only the Network names one", "infra", nil, "infra", nil},
		{"the Shoot names none", "infra", aShootOn("", 3), "infra", nil},
		{"only the Shoot names one", "", aShootOn("infra", 3), "infra", nil},
		{"both name the same", "infra", aShootOn("infra", 3), "infra", nil},
		{"they name different ones", "island", aShootOn("infra", 3), "infra", []string{"spec.cloudProvider: is island, but the Shoot has infra; the Shoot counts"}},
		{"neither names one", "", aShootOn("", 3), "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			request := p.NewRequest(network("", onInfrastructure(test.network)), test.shoot, noEnvironment)
			g.Expect(request.Facts.Infrastructure.Type).To(Equal(test.want))
			result := p.Build(request)
			g.Expect(result.Errors).To(BeEmpty())
			g.Expect(warned(result)).To(Equal(test.warned))
			g.Expect(result.Origins["mode"].Source == plugin.FromInfrastructure).To(Equal(test.want == "infra"))
		})
	}
}

func TestAnUnknownInfrastructureIsToldWithTheKnownOnes(t *testing.T) {
	const unknown = " is an infrastructure that Trellis does not know, so it assumes that nothing is restricted there; known are continent, infra, island"
	p := newPipeline(t, noopPlugin{})
	for _, test := range []struct {
		name, network string
		shoot         *corev1beta1.Shoot
		author        pipeline.Author
		want          string
	}{
		{"in a Network", "hills", nil, pipeline.AuthorNetwork, "spec.cloudProvider: hills" + unknown},
		{"in a Shoot", "", aShootOn("hills", 3), pipeline.AuthorShoot, "spec.provider.type: hills" + unknown},
		{"in a Network's Shoot", "", aShootOn("hills", 3), pipeline.AuthorNetwork, "shoot.spec.provider.type: hills" + unknown},
		{"a letter is missing", "ifra", nil, pipeline.AuthorNetwork, "spec.cloudProvider: ifra" + unknown + "; did you mean infra?"},
		{"a capital letter", "", aShootOn("Island", 3), pipeline.AuthorShoot, "spec.provider.type: Island" + unknown + "; did you mean island?"},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := p.NewRequest(network("", onInfrastructure(test.network)), test.shoot, noEnvironment)
			request.Author = test.author
			NewWithT(t).Expect(warned(p.Build(request))).To(Equal([]string{test.want}))
		})
	}
}

func TestWithoutProvidersNoInfrastructureIsCalledUnknown(t *testing.T) {
	g := NewWithT(t)
	p, err := pipeline.New([]plugin.Plugin{plugin.New(noopPlugin{})}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Build(p.NewRequest(network("", onInfrastructure("hills")), nil, noEnvironment)).Warnings).To(BeEmpty())
}

const noRoutes = "spec.providerConfig.tunnel.enabled: Forbidden: pods on different nodes would not reach each other: the network relies on routes to the nodes' pod ranges, and on island nothing makes them; " +
	"write tunnel.enabled: true, or on islands write tunnel.enabled: true and leave mode out"

func TestANewNetworkDoesNotRelyOnRoutesThatNothingMakes(t *testing.T) {
	g := NewWithT(t)
	g.Expect(lines(build(t, "", onInfrastructure("island")).Errors)).To(Equal(noRoutes))
	g.Expect(build(t, "", onInfrastructure("continent")).Errors).To(BeEmpty())
	g.Expect(build(t, "").Errors).To(BeEmpty(), "it is not known")
	g.Expect(build(t, `{"tunnel":{"enabled":true}}`, onInfrastructure("island")).Errors).To(BeEmpty())
}

// What Trellis learns of an infrastructure does not stop networks that run there.
func TestARunningNetworkWithoutRoutesIsOnlyWarned(t *testing.T) {
	p := newPipeline(t, noopPlugin{})
	const warning = "spec.providerConfig.tunnel.enabled: was so before, and would be refused in a new network: "
	for name, forget := range map[string]func(*plugin.Infrastructure){
		"its facts are today's":            func(*plugin.Infrastructure) {},
		"a former release did not know it": func(i *plugin.Infrastructure) { *i = plugin.Infrastructure{Type: "island"} },
		"a former release did not look":    func(i *plugin.Infrastructure) { *i = plugin.Infrastructure{} },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			request := p.NewRequest(network("", onInfrastructure("island")), nil, noEnvironment)
			request.TakenOver = request.Accepted()
			forget(&request.TakenOver.Facts.Infrastructure)
			result := p.Build(request)
			g.Expect(result.Errors).To(BeEmpty())
			g.Expect(warned(result)).To(ConsistOf(HavePrefix(warning)))

			applied := rebuildable(t, result)
			forget(&applied.Accepted.Facts.Infrastructure)
			again := p.NewRequest(network(`{"mtu":"1300"}`, onInfrastructure("island")), nil, noEnvironment)
			again.Applied = applied
			result = p.Build(again)
			g.Expect(result.Errors).To(BeEmpty(), "another field changes")
			g.Expect(warned(result)).To(ConsistOf(HavePrefix(warning)))
		})
	}
	t.Run("it had routes of its own", func(t *testing.T) {
		g := NewWithT(t)
		request := p.NewRequest(network("", onInfrastructure("island")), nil, noEnvironment)
		request.Applied = rebuildable(t, build(t, `{"tunnel":{"enabled":true}}`, onInfrastructure("island")))
		g.Expect(lines(p.Build(request).Errors)).To(Equal(noRoutes))
	})
}

// Of a network that runs it may be unknown with which config.
func TestANetworkThatRunsWithoutRoutesIsOnlyWarned(t *testing.T) {
	g := NewWithT(t)
	request := newPipeline(t, noopPlugin{}).NewRequest(network("", onInfrastructure("island")), nil, noEnvironment)
	request.Runs = true
	result := newPipeline(t, noopPlugin{}).Build(request)
	g.Expect(result.Errors).To(BeEmpty())
	g.Expect(warned(result)).To(Equal([]string{noRoutes}))
	g.Expect(result.Objects.For(plugin.Shoot)).NotTo(BeEmpty())
}

func TestMoreNodesThanRoutesAreWarnedOf(t *testing.T) {
	p := newPipeline(t, noopPlugin{})
	warnings := func(config string, nodes int32) []string {
		return warned(p.Build(p.NewRequest(network(config), aShootOn("continent", nodes), noEnvironment)))
	}
	g := NewWithT(t)
	g.Expect(warnings("", 5)).To(BeEmpty())
	g.Expect(warnings("", 6)).To(Equal([]string{"spec.providerConfig.tunnel.enabled: the pods of each node need a route, and continent allows 5 in a route table unless its quota is raised; " +
		"the workers may grow to 6 nodes: have the quota raised before they do, or let them grow less"}))
	g.Expect(warnings(`{"tunnel":{"enabled":true}}`, 6)).To(BeEmpty())
}

func TestStandaloneItIsNotKnownWhatMakesRoutes(t *testing.T) {
	p := newPipeline(t, noopPlugin{})
	request := p.NewRequest(network("", onInfrastructure("continent")), nil, plugin.Environment{PodAccess: &plugin.PodAccess{}})
	NewWithT(t).Expect(p.Build(request).DataPath).To(Equal("no encapsulation; routes by the infrastructure"))
}

func TestOneLineTellsHowPacketsTravel(t *testing.T) {
	p := newPipeline(t, noopPlugin{})
	for _, test := range []struct{ config, infrastructure, want string }{
		{`{"tunnel":{"enabled":true}}`, "island", "through a tunnel; routes by the agents"},
		{"", "continent", "no encapsulation; routes by the road office"},
		{"", "", "no encapsulation; routes by the infrastructure"},
		{"", "island", "no encapsulation; routes by nothing, since island makes none"},
	} {
		t.Run(test.infrastructure+test.config, func(t *testing.T) {
			g := NewWithT(t)
			request := p.NewRequest(network(test.config, onInfrastructure(test.infrastructure)), nil, noEnvironment)
			result := p.Build(request)
			g.Expect(result.DataPath).To(Equal(test.want))
			line, err := p.DataPath("noop", &pipeline.Applied{Config: json.RawMessage(test.config), Accepted: request.Accepted()})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(line).To(Equal(test.want), "also of a config that was applied earlier")
		})
	}
	_, err := p.DataPath("other", &pipeline.Applied{})
	NewWithT(t).Expect(err).To(MatchError(`this program has no plugin for the type "other"`))
	_, err = p.DataPath("noop", &pipeline.Applied{Config: json.RawMessage(`{"x":1}`)})
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring(`x: Invalid value`)))
}
