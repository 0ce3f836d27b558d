// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
)

// forgetful has a field whose false gets lost.
type forgetful struct {
	config `json:",inline"`
	Fresh  bool `json:"fresh,omitempty"`
}

// fractional has a number that is nearer to what is meant once it is read again.
type fractional struct {
	config `json:",inline"`
	Fresh  *float32 `json:"fresh,omitempty"`
}

// moody has a word that cannot be read again.
type moody struct {
	config `json:",inline"`
	Fresh  *word `json:"fresh,omitempty"`
}

type word string

func (w *word) UnmarshalJSON(raw []byte) error {
	if string(raw) == `"automatic"` {
		return errors.New("no user may write that")
	}
	return json.Unmarshal(raw, (*string)(w))
}

// fresh is the sound plugin with one more field, which Default fills in.
func fresh[C any](inner func(*C) *config, class plugin.ChangeClass, fill func(*C)) func() plugin.Plugin {
	return func() plugin.Plugin {
		f := adapted(sound(), inner)
		declaring(f, "fresh", class)
		defaults, classify := f.defaults, f.classify
		f.defaults = func(c *C, facts *plugin.Input, origins *plugin.Origins) {
			fill(c)
			defaults(c, facts, origins)
		}
		f.classify = func(c plugin.Change[C]) (plugin.ChangeClass, string) {
			if c.Path == "fresh" {
				return class, "no agent reads it"
			}
			return classify(c)
		}
		return plugin.New[C](f)
	}
}

func freshRow(byDefault string, class plugin.ChangeClass) func(string) string {
	return func(text string) string { return text + "| `fresh` | " + byDefault + " | " + string(class) + " |\n" }
}

func innerOfFractional(f *fractional) *config { return &f.config }

func tenth(f *fractional) {
	if f.Fresh == nil {
		f.Fresh = new(float32(0.1))
	}
}

// brokenDefaults are in force without being shown, or are not those that are documented.
var brokenDefaults = []broken{
	{check: "defaults", how: "Render fills in what Default leaves out", says: "logging.enabled is absent from what is in force, and the objects are those of false, not of true; fill it in in Default", wrong: func(f *fake[config]) {
		f.defaults = func(c *config, facts *plugin.Input, origins *plugin.Origins) {
			wrote := c.Logging
			soundDefaults(c, facts, origins)
			if wrote == nil {
				c.Logging = nil
			}
		}
		f.render = func(c *config, facts *plugin.Input) (plugin.Objects, error) {
			complete := *c
			complete.Logging = cmp.Or(c.Logging, &logging{Level: "info"})
			return soundRender(&complete, facts)
		}
	}},
	{check: "defaults", how: "a default is another thing if the user states it", says: "mode: \"tunnel\" is the default, and a user who states it gets another network", wrong: func(f *fake[config]) {
		f.defaults = func(c *config, facts *plugin.Input, origins *plugin.Origins) {
			if c.Mode == nil && c.Peers == nil {
				c.Peers = []peer{{Address: "10.0.0.1"}}
				origins.Rule("peers", "no field says how packets travel")
			}
			soundDefaults(c, facts, origins)
		}
	}},
	{check: "defaults", how: "an empty list is not none", says: "peers: [] makes another network than no peers, and gets lost where it is remembered", wrong: func(f *fake[config]) {
		f.render = func(c *config, facts *plugin.Input) (plugin.Objects, error) {
			objects, err := soundRender(c, facts)
			if err == nil && c.Peers != nil && len(c.Peers) == 0 {
				objects.For(plugin.Seed)[0].(*corev1.ConfigMap).Data["peers"] = "none"
			}
			return objects, err
		}
	}},
	{check: "defaults", how: "false gets lost", says: "the user's fresh: false becomes true without a reason",
		plugin: fresh(func(f *forgetful) *config { return &f.config }, plugin.Safe, func(f *forgetful) { f.Fresh = true }), readme: freshRow("`true`", plugin.Safe)},
	{check: "defaults", how: "a config that cannot be decoded", says: "Default makes a config that cannot be decoded again",
		plugin: fresh(func(m *moody) *config { return &m.config }, plugin.Safe, func(m *moody) {
			if m.Fresh == nil {
				m.Fresh = new(word("automatic"))
			}
		}), readme: freshRow("`automatic`", plugin.Safe)},
	{check: "defaults", how: "objects of what is not remembered", says: "the objects differ once the config in force has been encoded and decoded", wrong: func(f *fake[config]) {
		f.render = func(c *config, facts *plugin.Input) (plugin.Objects, error) {
			objects, err := soundRender(c, facts)
			if err == nil {
				objects.For(plugin.Seed)[0].(*corev1.ConfigMap).Data["kind"] = c.Kind
			}
			return objects, err
		}
	}},
	{check: "defaults", how: "a value that is not what it was", says: "a network that is applied once more changes by itself",
		plugin: fresh(innerOfFractional, plugin.Safe, tenth), readme: freshRow("`0.1`", plugin.Safe)},
	{check: "defaults", how: "a value that must stay what it was and does not", says: "a network that is applied once more is refused",
		plugin: fresh(innerOfFractional, plugin.Forbidden, tenth), readme: freshRow("`0.1`", plugin.Forbidden)},
	{check: "readme", how: "a default that is in force nowhere", says: "README.md says that the default of `fresh` is `false`, and that is in force in no network",
		plugin: fresh(func(g *grown) *config { return &g.config }, plugin.Safe, func(*grown) {}), readme: freshRow("`false`", plugin.Safe)},
	{check: "readme", how: "half of another default", says: "says that the default of `mtu` is \"`1400`\", and 140 is in force", wrong: func(f *fake[config]) {
		f.validate = func(c *config, facts *plugin.Input, path *field.Path) plugin.Findings {
			known := *c
			if c.MTU != nil && *c.MTU == 140 {
				known.MTU = nil
			}
			return soundValidate(&known, facts, path)
		}
		f.defaults = func(c *config, facts *plugin.Input, origins *plugin.Origins) {
			c.MTU = cmp.Or(c.MTU, new(int32(140)))
			soundDefaults(c, facts, origins)
		}
	}},
}

func TestDefaultsAreMentionedInWholeWords(t *testing.T) {
	for _, test := range []struct {
		cell, value string
		is          bool
	}{
		{"`1400`", "1400", true}, {"`1400`", "140", false}, {"`1400`", "400", false}, {"`100`, or `10`", "10", true},
		{"[IPv4], or both", `["IPv4"]`, true}, {"absent", "false", false}, {"`15s`", `"5s"`, false}, {"", "", true}, {"", "0", false},
	} {
		t.Run(strings.Join([]string{test.cell, test.value}, " "), func(t *testing.T) {
			NewWithT(t).Expect(mentions(test.cell, test.value)).To(Equal(test.is))
		})
	}
}
