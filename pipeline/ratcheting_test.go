// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Invariant 9: what was applied is never rejected later, only warned about. What
// the user changes is judged by today's rules.
func TestWhatIsAppliedIsNotRejectedLater(t *testing.T) {
	old, strict := noopPlugin{}, noopPlugin{strict: true}
	const bridging = "spec.providerConfig.mode: was so before, and would be refused in a new network: Forbidden: bridged mode is not supported"
	const size = `spec.providerConfig.mtu: was so before, and would be refused in a new network: Invalid value: "1300": is not supported`
	for name, test := range map[string]struct {
		before, after string
		warned        []string
		refused       string
	}{
		"a rule for what is written":         {`{"mode":"bridged"}`, `{"mode":"bridged"}`, []string{bridging}, ""},
		"a rule for what is in force":        {`{"mtu":"1300"}`, `{"mtu":"1300"}`, []string{size}, ""},
		"both":                               {`{"mode":"bridged","mtu":"1300"}`, `{"mode":"bridged","mtu":"1300"}`, []string{bridging, size}, ""},
		"another field changes":              {`{"mode":"bridged"}`, `{"mode":"bridged","mtu":"1400"}`, []string{bridging}, ""},
		"another field becomes wrong":        {`{"mode":"bridged"}`, `{"mode":"bridged","mtu":"1300"}`, []string{bridging}, `spec.providerConfig.mtu: Invalid value: "1300"`},
		"corrected":                          {`{"mtu":"1300"}`, `{"mtu":"1301"}`, nil, ""},
		"wrong in another way":               {`{"mtu":"1300"}`, `{"mtu":"0"}`, nil, `spec.providerConfig.mtu: Invalid value: "0"`},
		"a forbidden change stays forbidden": {`{"mode":"bridged"}`, `{"mode":"routed"}`, nil, "cannot change from bridged to routed"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			result := rebuild(t, old, test.before, strict, test.after)
			var warned []string
			for _, warning := range result.Warnings {
				warned = append(warned, warning.String())
			}
			g.Expect(warned).To(Equal(test.warned))
			if test.refused != "" {
				g.Expect(lines(result.Errors)).To(ContainSubstring(test.refused))
				return
			}
			g.Expect(result.Errors).To(BeEmpty())
			g.Expect(result.Objects.For(plugin.Shoot)).NotTo(BeEmpty())
		})
	}
}

// It stays so with the release after that.
func TestForgivenessLasts(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, noopPlugin{strict: true})
	request := p.NewRequest(network(`{"mtu":"1300"}`), nil, noEnvironment)
	request.Applied = rebuildable(t, rebuild(t, noopPlugin{}, `{"mtu":"1300"}`, noopPlugin{strict: true}, `{"mtu":"1300"}`))
	g.Expect(p.Build(request).Errors).To(BeEmpty())
}

// rebuildable is what a network is remembered by, after it was written and read.
func rebuildable(t *testing.T, result pipeline.Result) *pipeline.Applied {
	t.Helper()
	raw, err := json.Marshal(result.Applied())
	applied := &pipeline.Applied{}
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(json.Unmarshal(raw, applied)).To(Succeed())
	return applied
}

// A rule may be broken by a fact as well: then its cause is new, and so is the
// error.
func TestErrorsThatNewFactsBringAreErrors(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, noopPlugin{})
	request := p.NewRequest(network(`{"mode":"bridged"}`), nil, noEnvironment)
	request.Applied = rebuildable(t, p.Build(request))
	g.Expect(p.Build(request).Errors).To(BeEmpty())
	request.Facts.KubeProxy.Enabled = false
	g.Expect(lines(p.Build(request).Errors)).To(ContainSubstring("bridged mode needs kube-proxy"))
}

// What an older release remembered says nothing of what was accepted.
func TestWithoutMemoryNothingIsForgiven(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, noopPlugin{strict: true})
	request := p.NewRequest(network(`{"mtu":"1300"}`), nil, noEnvironment)
	request.Applied = &pipeline.Applied{Config: []byte(`{"mode":"routed","mtu":"1300"}`)}
	g.Expect(lines(p.Build(request).Errors)).To(ContainSubstring("is not supported"))
}

// What another has made and keeps running is taken over, whatever Trellis would have
// said. What changes along with that is judged.
func TestANetworkThatIsTakenOverIsNotRefused(t *testing.T) {
	p := newPipeline(t, noopPlugin{strict: true})
	accepted := func(config string) *pipeline.Accepted {
		request := p.NewRequest(network(config), nil, noEnvironment)
		return request.Accepted()
	}
	for name, test := range map[string]struct {
		ran             *pipeline.Accepted
		config, refused string
	}{
		"as it is":              {accepted(`{"mode":"bridged","mtu":"1300"}`), `{"mode":"bridged","mtu":"1300"}`, ""},
		"with fields unknown":   {accepted(`{"colour":"red"}`), `{"colour":"red"}`, ""},
		"and made wrong":        {accepted(`{"mode":"bridged"}`), `{"mode":"bridged","mtu":"1300"}`, "is not supported"},
		"and it is unknown how": {nil, `{"mode":"bridged"}`, "bridged mode is not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			request := p.NewRequest(network(test.config), nil, noEnvironment)
			request.TakenOver = test.ran
			result := p.Build(request)
			if test.refused != "" {
				g.Expect(lines(result.Errors)).To(ContainSubstring(test.refused))
				return
			}
			g.Expect(result.Errors).To(BeEmpty())
			g.Expect(result.Warnings).To(ContainElement(HaveField("Message", ContainSubstring("would be refused in a new network"))))
			g.Expect(result.Objects.For(plugin.Shoot)).NotTo(BeEmpty())

			again := p.NewRequest(network(test.config), nil, noEnvironment)
			again.Applied = rebuildable(t, result)
			g.Expect(p.Build(again).Errors).To(BeEmpty(), "nor later")
		})
	}
}
