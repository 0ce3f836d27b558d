// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/internal/explain"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

func newPipeline(t *testing.T) *pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.New(plugins.All(), providers.All())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return p
}

func explained(t *testing.T, field string) *explain.Explanation {
	t.Helper()
	path := strings.Split(field, ".")
	e, err := explainer(t, path[0]).Of(path[1:])
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return e
}

func explainer(t *testing.T, networkType string) *explain.Explainer {
	t.Helper()
	p := newPipeline(t)
	one, has := p.Plugin(networkType)
	NewWithT(t).Expect(has).To(BeTrue())
	x, err := explain.New(p, &one)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return x
}

// each calls check with every field of every plugin.
func each(t *testing.T, check func(t *testing.T, e *explain.Explanation)) {
	var walk func(field string)
	walk = func(field string) {
		e := explained(t, field)
		t.Run(field, func(t *testing.T) { check(t, e) })
		for _, inner := range e.Fields {
			walk(field + "." + inner.Name)
		}
	}
	for _, one := range plugins.All() {
		walk(one.Type)
	}
}

func TestEveryFieldIsExplained(t *testing.T) {
	each(t, func(t *testing.T, e *explain.Explanation) {
		g := NewWithT(t)
		g.Expect(e.Text.Intro).NotTo(BeEmpty())
		g.Expect(e.Type).NotTo(BeEmpty())
		if e.Path == "" || e.Path == "apiVersion" || e.Path == "kind" || len(e.Fields) > 0 {
			return
		}
		g.Expect(e.Text.Effect+e.Around.Effect+e.Around.Intro).NotTo(BeEmpty(), "what it does")
		g.Expect(e.Changes).NotTo(BeEmpty())
		for _, change := range e.Changes {
			g.Expect(change.Class).To(BeElementOf(plugin.Safe, plugin.Rolling, plugin.Disruptive, plugin.Forbidden))
			g.Expect(change.Reason).NotTo(BeEmpty())
		}
	})
}

func TestChangesAreThoseThatThePluginDeclares(t *testing.T) {
	g := NewWithT(t)
	e := explained(t, "calico.vxlan.enabled")
	g.Expect(e.Changes).To(ContainElement(HaveField("When", "with IPv6 alone")))
	g.Expect(e.Classes).To(Equal([]plugin.ChangeClass{plugin.Disruptive, plugin.Rolling, plugin.Safe}))
	g.Expect(explained(t, "calico.autoScaling.resources.node.cpu").Classes).To(Equal([]plugin.ChangeClass{plugin.Rolling}), "those of the block")
}

func TestWhatWasMeantIsGuessed(t *testing.T) {
	x := explainer(t, "calico")
	for path, says := range map[string]string{
		"overlay.enabeld":  "calico.overlay has no field \"enabeld\" (fields: createPodRoutes, enabled); did you mean calico.overlay.enabled?",
		"Overlay":          "did you mean calico.overlay?",
		"createPodRoutes":  "did you mean calico.overlay.createPodRoutes?",
		"mode":             "did you mean calico.autoScaling.mode or calico.ipv4.mode or calico.ipv6.mode?",
		"enabled":          "calico has no field \"enabled\" (fields: apiVersion",
		"vethMTU.value":    "calico.vethMTU has no field \"value\"",
		"overlay..enabled": "calico.overlay has no field \"\" (fields: createPodRoutes, enabled)",
	} {
		_, err := x.Of(strings.Split(path, "."))
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(says)), path)
	}
}

func TestSchemasThatAreNoneAreErrors(t *testing.T) {
	for schema, says := range map[string]string{
		"":                 "the rope plugin has no schema",
		"{":                "the schema of the rope plugin is broken",
		"[]":               "the schema of the rope plugin is broken",
		`{"properties":1}`: "it has no properties",
	} {
		one := plugin.Plugin{Description: plugin.Description{Type: "rope", ConfigSchema: []byte(schema)}}
		_, err := explain.Schema(&one)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(says)), schema)
	}
	for _, one := range plugins.All() {
		text, err := explain.Schema(&one)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(json.Valid(text)).To(BeTrue())
	}
}
