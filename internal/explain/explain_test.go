// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/internal/explain"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins"
)

func configOf(t *testing.T, networkType string) *explain.Config {
	t.Helper()
	all := plugins.All()
	i := slices.IndexFunc(all, func(p plugin.Plugin) bool { return p.Type == networkType })
	config, err := explain.Of(&all[i])
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return config
}

func explained(t *testing.T, field string) *explain.Explanation {
	t.Helper()
	networkType, path, _ := strings.Cut(field, ".")
	e, err := configOf(t, networkType).Field(path)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return e
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
		if !e.IsLeaf() {
			return
		}
		g.Expect(e.Default).NotTo(BeEmpty())
		g.Expect(e.Text.Effect+e.Around.Effect+e.Around.Intro).NotTo(BeEmpty(), "what it does")
		g.Expect(e.Changes).NotTo(BeEmpty())
		for _, change := range e.Changes {
			g.Expect(change.Class).To(BeElementOf(plugin.Safe, plugin.Rolling, plugin.Disruptive, plugin.Forbidden))
			g.Expect(change.Reason).NotTo(BeEmpty())
		}
	})
}

// The plugin declares them for the field, or for a block around it.
func TestAChangeHasTheClassesThatThePluginDeclares(t *testing.T) {
	for field, classes := range map[string][]string{
		"calico.vethMTU":               {"safe if only the spelling changes", "rolling"},
		"calico.ebpfDataplane.enabled": {"disruptive"},
		"flannel.resources.limits.cpu": {"rolling"},
		"flannel.backend.port":         {"rolling together with backend.type", "disruptive"},
	} {
		var found []string
		for _, change := range explained(t, field).Changes {
			found = append(found, strings.TrimSpace(string(change.Class)+" "+change.When))
		}
		NewWithT(t).Expect(found).To(Equal(classes), field)
	}
}

// A block of resources documents the defaults of its fields in one sentence.
func TestAResourceHasItsOwnDefault(t *testing.T) {
	for field, value := range map[string]string{
		"flannel.resources.requests.cpu":         "100m",
		"flannel.resources.requests.memory":      "50Mi",
		"calico.autoScaling.resources.typha.cpu": "200m; in mode vpa there is no minimum.",
		"calico.overlay.createPodRoutes":         "false.",
	} {
		NewWithT(t).Expect(explained(t, field).Default).To(Equal(value), field)
	}
}

func TestWhatWasMeantIsGuessed(t *testing.T) {
	config := configOf(t, "calico")
	for path, says := range map[string]string{
		"overlay.enabeld":  "calico.overlay has no field \"enabeld\" (fields: createPodRoutes, enabled); did you mean calico.overlay.enabled?",
		"Overlay":          "did you mean calico.overlay?",
		"createPodRoutes":  "did you mean calico.overlay.createPodRoutes?",
		"mode":             "did you mean calico.autoScaling.mode or calico.ipv4.mode or calico.ipv6.mode?",
		"enabled":          "calico has no field \"enabled\" (fields: apiVersion",
		"vethMTU.value":    "calico.vethMTU has no field \"value\"",
		"overlay..enabled": "calico.overlay has no field \"\" (fields: createPodRoutes, enabled)",
	} {
		_, err := config.Field(path)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(says)), path)
	}
}

func TestSchemasThatAreNoneAreErrors(t *testing.T) {
	for schema, says := range map[string]string{
		"":                 "the other plugin has no schema",
		"{":                "the schema of the other plugin is broken",
		"[]":               "the schema of the other plugin is broken",
		`{"properties":1}`: "it has no properties",
	} {
		one := plugin.Plugin{Description: plugin.Description{Type: "other", ConfigSchema: []byte(schema)}}
		_, err := explain.Schema(&one)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(says)), schema)
	}
	for _, one := range plugins.All() {
		text, err := explain.Schema(&one)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(json.Valid(text)).To(BeTrue())
	}
}
