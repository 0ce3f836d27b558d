// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Build is pure: a Request that went through a file gives the same Result, to
// the byte.
func TestReplayedRequestsGiveTheSameResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := rapid.SampledFrom([]string{"", `{"mode":"routed"}`, `{"mode":"?"}`, `{"mtu":"9","tunnel":{"enabled":true}}`, `{"x":1}`}).Draw(t, "config")
		p, err := pipeline.New([]plugin.Plugin{plugin.New(noopPlugin{})}, []plugin.Provider{infra{}})
		if err != nil {
			t.Fatal(err)
		}
		request := p.NewRequest(network(config, func(s *spec) {
			s.CloudProvider = rapid.SampledFrom([]string{"", "infra", "hills"}).Draw(t, "cloud")
			s.PodCIDR = rapid.SampledFrom([]string{"10.1.0.0/16", "x", "10.2.0.0/16"}).Draw(t, "pods")
		}), nil, noEnvironment)
		if rapid.Bool().Draw(t, "running") {
			request.Applied = &pipeline.Applied{Config: []byte(`{"mode":"routed","mtu":"1399"}`)}
		}
		dumped, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		var replayed pipeline.Request
		if err := json.Unmarshal(dumped, &replayed); err != nil {
			t.Fatal(err)
		}
		if one, two := printed(t, p.Build(request)), printed(t, p.Build(replayed)); one != two {
			t.Fatalf("a replayed request differs:\n%s\n%s", one, two)
		}
	})
}

type failer interface{ Fatal(...any) }

// printed is a whole Result as text.
func printed(t failer, result pipeline.Result) string {
	documents, err := pipeline.Documents(result.Objects.For(plugin.Shoot))
	if err != nil {
		t.Fatal(err)
	}
	result.Objects = plugin.Objects{}
	rest, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return string(rest) + lines(result.Errors) + string(documents)
}

// One plugin's defect is an error of its Networks only.
func TestDefectsOfAPluginAreErrors(t *testing.T) {
	for breaks, wants := range map[string]string{
		"error":    "cannot render",
		"panic":    "the noop plugin panicked at fixture_test.go:",
		"default":  "the noop plugin panicked at fixture_test.go:",
		"nameless": "rendered a ConfigMap without a name",
		"kindless": "without apiVersion or kind",
		"twice":    "rendered ConfigMap kube-system/noop twice",
	} {
		t.Run(breaks, func(t *testing.T) {
			g := NewWithT(t)
			p := newPipeline(t, noopPlugin{breaks: breaks})
			result := p.Build(p.NewRequest(network(""), nil, noEnvironment))
			g.Expect(lines(result.Errors)).To(And(ContainSubstring("spec.providerConfig: Internal error"), ContainSubstring(wants)))
			g.Expect(result.Objects.For(plugin.Shoot)).To(BeEmpty())
		})
	}
}

func TestTwoPluginsOfOneTypeAreRefused(t *testing.T) {
	one := plugin.New(noopPlugin{})
	_, err := pipeline.New([]plugin.Plugin{one, one}, nil)
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring(`two plugins answer to the network type "noop"`)))
	_, err = pipeline.New(nil, []plugin.Provider{infra{}, infra{}})
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring(`two providers answer to the infrastructure type "infra"`)))
}

func TestDocumentsStateNoStatus(t *testing.T) {
	g := NewWithT(t)
	documents, err := pipeline.Documents(build(t, "").Objects.For(plugin.Shoot))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(documents)).NotTo(Or(ContainSubstring("status"), ContainSubstring("creationTimestamp")))
	g.Expect(string(documents)).To(ContainSubstring("}\n---\n{"))
}
