// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// rebuild builds config with one release, and then what follows with another.
func rebuild(t *testing.T, release1 noopPlugin, before string, release2 noopPlugin, after string) pipeline.Result {
	t.Helper()
	p1, p2 := newPipeline(t, release1), newPipeline(t, release2)
	first := p1.Build(p1.NewRequest(network(before), nil, noEnvironment))
	NewWithT(t).Expect(first.Errors).To(BeEmpty())
	request := p2.NewRequest(network(after), nil, noEnvironment)
	request.Applied = first.Applied()
	return p2.Build(request)
}

// A running network is never shifted by a new release.
func TestAppliedDefaultsAreKeptAcrossReleases(t *testing.T) {
	old, new := noopPlugin{defaultMTU: "1400"}, noopPlugin{defaultMTU: "1500"}
	for name, test := range map[string]struct {
		before, after string
		mtu, origin   string
	}{
		"never set":            {"", "", "1400", "applied: kept from when it was first applied; today's default is 1500"},
		"set all the time":     {`{"mtu":"1300"}`, `{"mtu":"1300"}`, "1300", "user"},
		"set now":              {"", `{"mtu":"1300"}`, "1300", "user"},
		"set and then removed": {`{"mtu":"1300"}`, "", "1500", "default"},
		"a rule takes over":    {"", `{"tunnel":{"enabled":true}}`, "1200", "rule: a tunnel needs room"},
		"a rule lets go":       {`{"tunnel":{"enabled":true}}`, "", "1500", "default"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			result := rebuild(t, old, test.before, new, test.after)
			g.Expect(result.Errors).To(BeEmpty())
			var config noopConfig
			g.Expect(json.Unmarshal(result.Config, &config)).To(Succeed())
			g.Expect(config.MTU).To(Equal(test.mtu))
			g.Expect(result.Origins["mtu"].String()).To(Equal(test.origin))
		})
	}
}

func TestKeptValuesStayKept(t *testing.T) {
	g := NewWithT(t)
	second := rebuild(t, noopPlugin{defaultMTU: "1400"}, "", noopPlugin{defaultMTU: "1500"}, "")
	p := newPipeline(t, noopPlugin{defaultMTU: "1600"})
	request := p.NewRequest(network(""), nil, noEnvironment)
	request.Applied = second.Applied()
	third := p.Build(request)
	g.Expect(string(third.Config)).To(ContainSubstring(`"mtu":"1400"`))
	g.Expect(third.Changes).To(BeEmpty())
}

// What changes for a running network is listed with its class; what would break
// it is refused.
func TestChangesAreClassified(t *testing.T) {
	for name, test := range map[string]struct {
		before, after string
		changes       []pipeline.Change
		refused       string
	}{
		"nothing":   {`{"mtu":"1300"}`, `{"mtu":"1300"}`, nil, ""},
		"a value":   {`{"mtu":"1300"}`, `{"mtu":"1301"}`, []pipeline.Change{{Path: "mtu", Before: "1300", After: "1301", Class: plugin.Rolling, Reason: "the agents restart one by one"}}, ""},
		"unknown":   {"", `{"tunnel":{"enabled":false}}`, []pipeline.Change{{Path: "tunnel.enabled", After: false, Class: plugin.Disruptive, Reason: "the plugin does not say what this change means"}}, ""},
		"forbidden": {`{"mode":"routed"}`, `{"mode":"bridged"}`, []pipeline.Change{{Path: "mode", Before: "routed", After: "bridged", Class: plugin.Forbidden, Reason: "running pods keep the former mode"}}, "spec.providerConfig.mode: Forbidden: cannot change from routed to bridged in a running network: running pods keep"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			result := rebuild(t, noopPlugin{}, test.before, noopPlugin{}, test.after)
			g.Expect(result.Changes).To(Equal(test.changes))
			g.Expect(lines(result.Errors)).To(ContainSubstring(test.refused))
			g.Expect(len(result.Errors) > 0).To(Equal(test.refused != ""))
		})
	}
}

func TestUnreadableAppliedConfigOnlyWarns(t *testing.T) {
	for name, config := range map[string]string{
		"of another release": `{"ofAnotherRelease":true}`, "no object": `[1]`, "no JSON": `{`, "nothing": ``,
		"a value of another type": `{"mtu":1400}`, "a block that is none": `{"tunnel":"on","mtu":"1400"}`, "a path for a name": `{"tunnel.enabled":[],"mtu":"1400"}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPipeline(t, noopPlugin{})
			request := p.NewRequest(network(""), nil, noEnvironment)
			request.Applied = &pipeline.Applied{Config: []byte(config)}
			result := p.Build(request)
			g.Expect(result.Errors).To(BeEmpty())
			g.Expect(result.Warnings).To(HaveLen(1))
			g.Expect(result.Warnings[0].String()).To(HavePrefix("status.state: what was applied last cannot be compared: "))
			g.Expect(result.Objects.For(plugin.Shoot)).NotTo(BeEmpty())
		})
	}
}

// Any client may have written anything there, and the author of the spec is not to blame.
func TestANetworkIsNotRefusedForWhatIsRemembered(t *testing.T) {
	p := newPipeline(t, noopPlugin{defaultMTU: "1500"})
	value := rapid.SampledFrom([]string{"null", "true", "7", "1e400", `""`, `"1400"`, `"routed"`, "[]", "{}", `{"enabled":true}`, `{"enabled":"yes"}`, `{"kind":{"kind":1}}`})
	rapid.Check(t, func(r *rapid.T) {
		var fields []string
		for _, name := range []string{"mtu", "mode", "tunnel", "tunnel.kind", "apiVersion", "", "x"} {
			if rapid.Bool().Draw(r, name+" is there") {
				fields = append(fields, fmt.Sprintf("%q:%s", name, value.Draw(r, name)))
			}
		}
		request := p.NewRequest(network(`{"mode":"routed","tunnel":{"enabled":false}}`), nil, noEnvironment)
		request.Applied = &pipeline.Applied{Config: []byte("{" + strings.Join(fields, ",") + "}")}
		for _, err := range p.Build(request).Errors {
			if err.Type != field.ErrorTypeForbidden { // which a change may be
				r.Fatalf("%s: %v", request.Applied.Config, err)
			}
		}
	})
}
