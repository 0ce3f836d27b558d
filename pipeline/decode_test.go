// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

var noEnvironment = plugin.Environment{}

// A config that cannot be taken gives an error which names the field, what
// stands there, and what is allowed.
func TestConfigsAreDecodedStrictly(t *testing.T) {
	for name, test := range map[string]struct{ config, wants string }{
		"nothing":              {"", ""},
		"null":                 {"null", ""},
		"no version":           {`{"mode":"routed"}`, ""},
		"empty kind":           {`{"mode":"routed","kind":""}`, ""},
		"first version":        {`{"apiVersion":"noop.example.com/v1","kind":"NetworkConfig"}`, ""},
		"older version":        {`{"apiVersion":"noop.example.com/v1beta1","kind":"NetworkConfig"}`, ""},
		"another version":      {`{"apiVersion":"unknown.example.com/v1"}`, `spec.providerConfig.apiVersion: Unsupported value: "unknown.example.com/v1": supported values: "noop.example.com/v1"`},
		"another kind":         {`{"kind":"Network"}`, `spec.providerConfig.kind: Unsupported value: "Network": supported values: "NetworkConfig"`},
		"unknown field":        {`{"tunnel":{"enabeld":true}}`, `spec.providerConfig.tunnel.enabeld: Invalid value: true: is not a field here; did you mean enabled? There are enabled, kind`},
		"wrong case":           {`{"Mode":"routed"}`, `spec.providerConfig.Mode: Invalid value: "routed": is not a field here; write mode`},
		"field twice":          {`{"mode":"routed","mode":"bridged"}`, `spec.providerConfig.mode: Duplicate value: "mode"`},
		"number as string":     {`{"mtu":1440}`, `spec.providerConfig.mtu: Invalid value: 1440: must be a string, not a number; write it in quotes`},
		"string as object":     {`{"tunnel":"yes"}`, `spec.providerConfig.tunnel: Invalid value: "yes": must be an object, not a string`},
		"string as bool":       {`{"tunnel":{"enabled":"yes"}}`, `spec.providerConfig.tunnel.enabled: Invalid value: "yes": must be true or false, not a string`},
		"a list":               {`[]`, `spec.providerConfig: Invalid value: []: must be an object, not a list`},
		"a scalar":             {`7`, `spec.providerConfig: Invalid value: 7: must be an object, not a number`},
		"cut off":              {`{"mode":`, `spec.providerConfig: Invalid value: "{\"mode\":": cannot be decoded`},
		"value not allowed":    {`{"mode":"tight"}`, `spec.providerConfig.mode: Unsupported value: "tight": supported values: "bridged", "routed"`},
		"not allowed in force": {`{"mtu":"0"}`, `spec.providerConfig.mtu: Invalid value: "0": must be positive`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			result := build(t, test.config)
			if test.wants == "" {
				g.Expect(result.Errors).To(BeEmpty())
				return
			}
			g.Expect(lines(result.Errors)).To(ContainSubstring(test.wants))
		})
	}
}

// Users are told of all their mistakes, whichever field they are in.
func TestAllMistakesAreToldAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		config string
		change func(*spec)
		wants  []string
	}{
		"types, names, duplicates, version": {
			config: `{"apiVersion":"unknown.example.com/v1","mtu":1,"mode":[2],"tunnel":{"enabled":{"a":"b"},"depth":3,"kind":"a","kind":"b"}}`,
			wants: []string{
				`spec.providerConfig.apiVersion: Unsupported value: "unknown.example.com/v1"`,
				`spec.providerConfig.mode: Invalid value: [2]: must be a string, not a list`,
				`spec.providerConfig.mtu: Invalid value: 1: must be a string, not a number; write it in quotes`,
				`spec.providerConfig.tunnel.depth: Invalid value: 3: is not a field here; there are enabled, kind`,
				`spec.providerConfig.tunnel.enabled: Invalid value: {"a":"b"}: must be true or false, not an object`,
				`spec.providerConfig.tunnel.kind: Duplicate value: "kind"`,
			},
		},
		"the Network and the types in its config": {
			config: `{"mtu":1}`,
			change: func(s *spec) { s.ServiceCIDR = s.PodCIDR },
			wants: []string{
				`spec.serviceCIDR: Invalid value: "10.1.0.0/16": overlaps with the pods' range 10.1.0.0/16`,
				`spec.providerConfig.mtu: Invalid value: 1: must be a string`,
			},
		},
		"the Network and the values in its config": {
			config: `{"mode":"tight"}`,
			change: func(s *spec) { s.PodCIDR = "" },
			wants: []string{
				`spec.podCIDR: Required value: write an IP range such as 100.96.0.0/11`,
				`spec.providerConfig.mode: Unsupported value: "tight"`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			change := test.change
			if change == nil {
				change = func(*spec) {}
			}
			got := strings.Split(lines(build(t, test.config, change).Errors), "\n")
			g := NewWithT(t)
			g.Expect(got).To(HaveLen(len(test.wants)), "%q", got)
			for i, want := range test.wants {
				g.Expect(got[i]).To(HavePrefix(want))
			}
		})
	}
}

func TestHugeOrDeepConfigsGiveShortErrors(t *testing.T) {
	for name, config := range map[string]string{
		"a megabyte":   strings.Repeat("x", 1<<20),
		"deep nesting": strings.Repeat(`{"tunnel":`, 20000) + "1" + strings.Repeat("}", 20000),
		"deep lists":   `{"mode":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "}",
		"deep enough":  `{"mode":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}",
		"a long name":  `{"` + strings.Repeat("x", 1<<20) + `":1}`,
		"a long value": `{"mode":["` + strings.Repeat("x", 1<<20) + `"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			result := build(t, config)
			g.Expect(result.Errors).NotTo(BeEmpty())
			g.Expect(lines(result.Errors)).To(HavePrefix("spec.providerConfig"))
			g.Expect(len(lines(result.Errors))).To(BeNumerically("<", 500))
		})
	}
}

func TestThousandsOfMistakesAreCounted(t *testing.T) {
	g := NewWithT(t)
	var fields []string
	for i := range 5000 {
		fields = append(fields, fmt.Sprintf(`"f%d":1`, i))
	}
	result := build(t, "{"+strings.Join(fields, ",")+"}")
	g.Expect(len(result.Errors)).To(Equal(101))
	g.Expect(lines(result.Errors)).To(HaveSuffix("has 4900 more errors"))
}

func FuzzBuildNeverPanics(f *testing.F) {
	for _, seed := range []string{"", "null", "{}", `{"mode":"routed"}`, `{"tunnel":{"enabled":true}}`, `{"mtu":1}`, `[`, `{"a":{"b":[1,{"c":null}]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, config []byte) {
		result := build(t, string(config))
		if len(result.Errors) == 0 && len(result.Objects.For(plugin.Shoot)) == 0 {
			t.Error("what validates must render")
		}
	})
}
