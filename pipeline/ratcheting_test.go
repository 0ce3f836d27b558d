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
	old, strict := stringPlugin{}, stringPlugin{strict: true}
	const slackness = "spec.providerConfig.mode: is applied, and would not be accepted any more: Forbidden: strings must be taut"
	const luck = `spec.providerConfig.mtu: is applied, and would not be accepted any more: Invalid value: "1300": brings bad luck`
	for name, test := range map[string]struct {
		before, after string
		warned        []string
		refused       string
	}{
		"a rule for what is written":         {`{"mode":"slack"}`, `{"mode":"slack"}`, []string{slackness}, ""},
		"a rule for what is in force":        {`{"mtu":"1300"}`, `{"mtu":"1300"}`, []string{luck}, ""},
		"both":                               {`{"mode":"slack","mtu":"1300"}`, `{"mode":"slack","mtu":"1300"}`, []string{slackness, luck}, ""},
		"another field changes":              {`{"mode":"slack"}`, `{"mode":"slack","mtu":"1400"}`, []string{slackness}, ""},
		"another field becomes wrong":        {`{"mode":"slack"}`, `{"mode":"slack","mtu":"1300"}`, []string{slackness}, `spec.providerConfig.mtu: Invalid value: "1300"`},
		"corrected":                          {`{"mtu":"1300"}`, `{"mtu":"1301"}`, nil, ""},
		"wrong in another way":               {`{"mtu":"1300"}`, `{"mtu":"0"}`, nil, `spec.providerConfig.mtu: Invalid value: "0"`},
		"a forbidden change stays forbidden": {`{"mode":"slack"}`, `{"mode":"taut"}`, nil, "cannot change from slack to taut"},
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
	p := newPipeline(t, stringPlugin{strict: true})
	request := p.NewRequest(network(`{"mtu":"1300"}`), nil, noEnvironment)
	request.Applied = rebuildable(t, rebuild(t, stringPlugin{}, `{"mtu":"1300"}`, stringPlugin{strict: true}, `{"mtu":"1300"}`))
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

// Earlier releases kept the webhook, and what Build decided, among the facts.
func TestWhatEarlierReleasesKeptIsRead(t *testing.T) {
	g := NewWithT(t)
	accepted := &pipeline.Accepted{}
	g.Expect(json.Unmarshal([]byte(`{"spec":{"type":"string"},"maxUnavailableDecided":true,
		"facts":{"kubeProxy":{"enabled":true},"maxUnavailable":7,"webhook":{"url":"https://trellis.garden","caBundle":"QW5u"}}}`), accepted)).To(Succeed())
	g.Expect(accepted.Facts.KubeProxy.Enabled).To(BeTrue())
	g.Expect(accepted.Decisions).To(Equal(plugin.Decisions{MaxUnavailable: 7, FromAnnotation: true}))
	g.Expect(accepted.Webhook).To(Equal(&plugin.Webhook{URL: "https://trellis.garden", CABundle: []byte("Ann")}))

	raw, err := json.Marshal(accepted)
	g.Expect(err).NotTo(HaveOccurred())
	again := &pipeline.Accepted{}
	g.Expect(json.Unmarshal(raw, again)).To(Succeed())
	g.Expect(again).To(Equal(accepted))
}

// A rule may be broken by a fact as well: then its cause is new, and so is the
// error.
func TestErrorsThatNewFactsBringAreErrors(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, stringPlugin{})
	request := p.NewRequest(network(`{"mode":"slack"}`), nil, noEnvironment)
	request.Applied = rebuildable(t, p.Build(request))
	g.Expect(p.Build(request).Errors).To(BeEmpty())
	request.Facts.KubeProxy.Enabled = false
	g.Expect(lines(p.Build(request).Errors)).To(ContainSubstring("a slack string needs kube-proxy"))
}

// What an older release remembered says nothing of what was accepted.
func TestWithoutMemoryNothingIsForgiven(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, stringPlugin{strict: true})
	request := p.NewRequest(network(`{"mtu":"1300"}`), nil, noEnvironment)
	request.Applied = &pipeline.Applied{Config: []byte(`{"mode":"taut","mtu":"1300"}`)}
	g.Expect(lines(p.Build(request).Errors)).To(ContainSubstring("brings bad luck"))
}

// What another has made and keeps running is taken over, whatever Trellis would have
// said. What changes along with that is judged.
func TestANetworkThatIsTakenOverIsNotRefused(t *testing.T) {
	p := newPipeline(t, stringPlugin{strict: true})
	accepted := func(config string) *pipeline.Accepted {
		request := p.NewRequest(network(config), nil, noEnvironment)
		return request.Accepted()
	}
	for name, test := range map[string]struct {
		ran             *pipeline.Accepted
		config, refused string
	}{
		"as it is":             {accepted(`{"mode":"slack","mtu":"1300"}`), `{"mode":"slack","mtu":"1300"}`, ""},
		"with fields unknown":  {accepted(`{"colour":"red"}`), `{"colour":"red"}`, ""},
		"and made wrong":       {accepted(`{"mode":"slack"}`), `{"mode":"slack","mtu":"1300"}`, "brings bad luck"},
		"and nobody knows how": {nil, `{"mode":"slack"}`, "strings must be taut"},
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
			g.Expect(result.Warnings).To(ContainElement(HaveField("Message", ContainSubstring("would not be accepted any more"))))
			g.Expect(result.Objects.For(plugin.Shoot)).NotTo(BeEmpty())

			again := p.NewRequest(network(test.config), nil, noEnvironment)
			again.Applied = rebuildable(t, result)
			g.Expect(p.Build(again).Errors).To(BeEmpty(), "nor later")
		})
	}
}
