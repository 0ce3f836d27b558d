// SPDX-License-Identifier: Apache-2.0

package plugins_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins"
)

// An editor marks a type, a name or a word that there is not just where validate
// refuses it, and nothing at all that validate takes in any cluster.
func TestEditorsAndValidateAgree(t *testing.T) {
	for _, one := range plugins.All() {
		t.Run(one.Type, func(t *testing.T) {
			e := newEditor(t, &one)
			taken, refused := 0, 0
			rapid.Check(t, func(r *rapid.T) {
				e := e
				e.written = rapid.SampledFrom([]int{0, 1, 4}).Draw(r, "fields of twenty")
				config, err := json.Marshal(e.draw(r, "", e.document))
				if err != nil {
					r.Fatal(err)
				}
				marked := e.validate(t, config)
				_, misfits := one.Decode(config, nil)
				switch {
				case len(misfits) > 0 && marked == nil:
					r.Fatalf("the schema passes %s, of which validate says %v", config, misfits)
				case len(misfits) == 0 && marked != nil && takenAnywhere(&one, config):
					r.Fatalf("validate takes %s, of which the schema says %v", config, marked)
				}
				if word := unknownWord(&one, config); word != "" && marked == nil {
					r.Fatalf("the schema passes %s, of which validate says %v", config, word)
				}
				if wrong := malformed(&one, config); wrong != "" && marked == nil {
					r.Fatalf("the schema passes %s, of which validate says %v", config, wrong)
				}
				if marked == nil {
					taken++
				} else {
					refused++
				}
			})
			if taken == 0 || refused == 0 {
				t.Errorf("the configs are no good: the schema takes %d and refuses %d", taken, refused)
			}
		})
	}
}

func takenAnywhere(p *plugin.Plugin, config []byte) bool {
	const ipv4, ipv6 = extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6
	return len(validateIn(p, config, ipv4)) == 0 || len(validateIn(p, config, ipv6)) == 0 || len(validateIn(p, config, ipv4, ipv6)) == 0
}

// unknownWord is an error about a word that is none of those that there are.
func unknownWord(p *plugin.Plugin, config []byte) string {
	for _, err := range validateIn(p, config, extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6) {
		if strings.HasPrefix(err.Detail, "must be one of ") || strings.HasPrefix(err.Detail, "supported values") {
			return err.Error()
		}
	}
	return ""
}

// wellFormed are the fields, and blocks of fields, of which a schema knows all that
// validate does, by plugin.
var wellFormed = map[string][]string{"calico": {"ipam.cidr", "autoScaling.resources"}}

// malformed is an error about a value that a schema knows to be wrong.
func malformed(p *plugin.Plugin, config []byte) string {
	for _, err := range validateIn(p, config, extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6) {
		for _, field := range wellFormed[p.Type] {
			if strings.HasPrefix(err.Field+".", "spec.providerConfig."+field+".") {
				return err.Error()
			}
		}
	}
	return ""
}

// An editor and validate agree on texts that are nearly right.
func TestEditorsAndValidateAgreeOnTexts(t *testing.T) {
	const (
		range4   = `(0?[0-9]|[1-9][0-9]|1[0-9]{2}|2[0-9]{2})(\.(0|10|25[0-9]|3[0-9]{2})){2,4}/[0-3]?[0-9]`
		range6   = `([0-9a-fA-F]{1,5}:){0,8}:?([0-9a-f]{0,4}:){0,3}([0-9a-f]{0,4}|10\.0\.0\.[0-9]{1,3})/0?1?[0-9]{1,2}`
		word     = `[uU]se[pP]od(CIDR|Cidr)(IPv6)?|`
		host     = `[a-z0-9A-Z]{0,3}[-.]{0,2}[a-z0-9]{1,2}[.:-]?`
		method   = `(first-found|kubernetes-internal-ip|last-found)=?|(can-reach|cidr|interface)=`
		quantity = ` {0,2}[+-]?0{0,2}[0-9]{0,2}[.]?0{0,2}[1-9]?([KMGk]i?|[mnu]|[eE][+-]?[0-9]{0,2})? ?`
	)
	for field, test := range map[string]struct{ config, texts string }{
		"ipam.cidr":                           {`{"ipam":{"cidr":%s}}`, word + `|` + range4 + `|` + range6},
		"ipv4.mode":                           {`{"ipv4":{"pool":"vxlan","mode":%s}}`, `Always|Never|CrossSubnet|Off|`},
		"ipv6.mode":                           {`{"ipv6":{"pool":"vxlan","mode":%s}}`, `Always|Never|CrossSubnet|Off|`},
		"ipv4.autoDetectionMethod":            {`{"ipv4":{"autoDetectionMethod":%s}}`, `|` + method + `|cidr=(` + range4 + `|` + range6 + `)|can-reach=(` + host + `)`},
		"ipv6.autoDetectionMethod":            {`{"ipv6":{"autoDetectionMethod":%s}}`, `|` + method + `|interface=[^[()*+?\\]`},
		"ipAutodetectionMethod":               {`{"ipAutodetectionMethod":%s}`, `|` + method + `|can-reach=(` + host + `)`},
		"autoScaling.resources.node.cpu":      {`{"autoScaling":{"mode":"static","resources":{"node":{"cpu":%s}}}}`, quantity},
		"autoScaling.resources.typha.memory":  {`{"autoScaling":{"mode":"vpa","resources":{"typha":{"memory":%s}}}}`, quantity},
		"autoScaling.resources.node.memory 0": {`{"autoScaling":{"mode":"vpa","resources":{"node":{"memory":%s}}}}`, ` ?-?0*[.]?0*(e[0-9])?`},
	} {
		t.Run(field, func(t *testing.T) {
			calico := plugins.All()[slices.IndexFunc(plugins.All(), func(p plugin.Plugin) bool { return p.Type == "calico" })]
			e := newEditor(t, &calico)
			texts := rapid.StringMatching(test.texts)
			rapid.Check(t, func(r *rapid.T) {
				text, err := json.Marshal(texts.Draw(r, "text"))
				if err != nil {
					r.Fatal(err)
				}
				config := fmt.Appendf(nil, test.config, text)
				marked, refused := e.validate(t, config), validate(t, &calico, config)
				if (marked == nil) != (refused == nil) {
					r.Fatalf("the schema says %v of %s, and validate %v", marked, config, refused)
				}
			})
		})
	}
}

// oddities are values that may be right or wrong somewhere.
var oddities = []any{
	nil, true, false, 0, 1, -1, 1.5, json.Number("1e400"), json.Number("9223372036854775808"),
	"", " ", "0", "-0", "+1440", "01440", "1440", "1_440", "1440.0", "99999999999999999999", "\u0661",
	"true", "null", "Always", "always", "OFF", "None", "none", "vxlan ", "usePodCIDR", "10.0.0.0/8", "::/0", "first-found", "interface=.*",
	"250m", " 250m ", "1e3", "1E3", "1e+3", "1e1.5", ".5", "5.", ".", "+.5Gi", "-1", "1Ki", "1ki", "1 m", "1\n", "1M",
	map[string]any{}, map[string]any{"enabled": true}, []any{}, []any{"a"},
}

// draw makes a value for a schema: one that it has in its examples or enum, or one
// that is put together of its fields, or anything else.
func (e editor) draw(r *rapid.T, path string, schema map[string]any) any {
	likely := slices.Concat(list(schema["enum"]), list(schema["examples"]))
	if typeOf(schema) == "boolean" {
		likely = append(likely, true, false)
	}
	switch kind := rapid.IntRange(0, 19).Draw(r, path+" kind"); {
	case kind == 0 && path != "":
		return rapid.SampledFrom(oddities).Draw(r, path)
	case typeOf(schema) == "object":
		return e.drawObject(r, path, schema)
	case kind < 15 && len(likely) > 0:
		return rapid.SampledFrom(likely).Draw(r, path)
	default:
		return rapid.SampledFrom(oddities).Draw(r, path)
	}
}

func (e editor) drawObject(r *rapid.T, path string, schema map[string]any) any {
	properties, _ := schema["properties"].(map[string]any)
	required := list(schema["required"])
	object := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		at := path + "." + name
		sometimes := e.written
		if slices.Contains(required, any(name)) {
			sometimes = 19
		}
		if rapid.IntRange(0, 19).Draw(r, at+" is there") < sometimes {
			object[name] = e.draw(r, at, properties[name].(map[string]any))
		}
	}
	if rapid.IntRange(0, 29).Draw(r, path+" has another") == 0 {
		object[rapid.SampledFrom([]string{"", "Enabled", "enabled ", "disk", "mode", "noSuchField"}).Draw(r, path+" other")] = true
	}
	return object
}

func list(value any) []any {
	items, _ := value.([]any)
	return items
}
