// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"encoding/json"
	"fmt"
	"slices"
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

// told are explanations by field, and explainers those that give them, by plugin: each
// explanation takes hundreds of builds.
var (
	told       = map[string]*explain.Explanation{}
	explainers = map[string]*explain.Explainer{}
)

func explained(t *testing.T, field string) *explain.Explanation {
	t.Helper()
	if e, known := told[field]; known {
		return e
	}
	path := strings.Split(field, ".")
	if explainers[path[0]] == nil {
		explainers[path[0]] = explainer(t, path[0])
	}
	e, err := explainers[path[0]].Of(path[1:])
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	told[field] = e
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

// find returns the change that is told of a step in these clusters; when is empty
// where nothing is known of them.
func find(e *explain.Explanation, from, to any, when string) (found []explain.Change) {
	for _, change := range e.Changes {
		of := slices.Contains(change.When, when) || when == "" && len(change.When) == 0
		if of && (len(change.Steps) == 0 || slices.Contains(change.Steps, explain.Step{From: from, To: to})) {
			found = append(found, change)
		}
	}
	return found
}

func TestChangesAreToldWhereTheyDiffer(t *testing.T) {
	const azure, ipv6, both = "on infrastructure azure", "with IPv6 alone", "with both IP families"
	for _, test := range []struct {
		field    string
		from, to any
		when     string
		class    plugin.ChangeClass
		with     string
	}{
		{"calico.overlay.enabled", false, true, "", plugin.Disruptive, ""},
		{"calico.overlay.enabled", true, false, "", plugin.Disruptive, ""},
		{"calico.overlay.enabled", nil, true, "", plugin.Rolling, ""},
		{"calico.overlay.enabled", true, nil, "", plugin.Disruptive, ""},
		{"calico.overlay.enabled", false, true, azure, plugin.Forbidden, "ipam.type"},
		{"calico.vxlan.enabled", false, true, "", plugin.Forbidden, "ipam.type"},
		{"calico.vxlan.enabled", false, true, ipv6, plugin.Safe, ""},
		{"calico.wireguardEncryption", true, false, "", plugin.Rolling, ""},
		{"calico.wireguardEncryption", true, false, both, plugin.Disruptive, "ipv6.sourceNATEnabled"},
		{"calico.ipv6.sourceNATEnabled", true, false, "", plugin.Disruptive, ""},
		{"calico.ipv6.sourceNATEnabled", false, true, "", plugin.Rolling, ""},
		{"calico.multus.enabled", true, nil, "", plugin.Disruptive, ""},
		{"calico.ipam.type", "host-local", "calico-ipam", "", plugin.Forbidden, ""},
		{"calico.vethMTU", nil, "1440", "", plugin.Rolling, ""},
	} {
		t.Run(fmt.Sprintf("%s from %v to %v %s", test.field, test.from, test.to, test.when), func(t *testing.T) {
			g := NewWithT(t)
			found := find(explained(t, test.field), test.from, test.to, test.when)
			g.Expect(found).To(HaveLen(1))
			g.Expect(found[0].Class).To(Equal(test.class))
			g.Expect(found[0].With).To(Equal(test.with))
		})
	}
}

func TestWhatDoesNotDifferIsToldOnce(t *testing.T) {
	for _, field := range []string{"calico.typha.enabled", "calico.backend", "calico.autoScaling.mode"} {
		e := explained(t, field)
		NewWithT(t).Expect(e.Changes).To(HaveLen(1), field)
		NewWithT(t).Expect(e.Changes[0].When).To(BeEmpty(), field)
	}
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
