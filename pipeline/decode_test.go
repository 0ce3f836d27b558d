// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/pipeline"
)

var noEnvironment = pipeline.Environment{}

// A config that cannot be taken gives an error which names the field, what
// stands there, and what is allowed.
func TestConfigsAreDecodedStrictly(t *testing.T) {
	for name, test := range map[string]struct{ config, wants string }{
		"nothing":              {"", ""},
		"null":                 {"null", ""},
		"no version":           {`{"mode":"taut"}`, ""},
		"empty kind":           {`{"mode":"taut","kind":""}`, ""},
		"first version":        {`{"apiVersion":"string.example.org/v1","kind":"NetworkConfig"}`, ""},
		"older version":        {`{"apiVersion":"string.example.org/v1beta1","kind":"NetworkConfig"}`, ""},
		"another version":      {`{"apiVersion":"rope.example.org/v1"}`, `spec.providerConfig.apiVersion: Unsupported value: "rope.example.org/v1": supported values: "string.example.org/v1"`},
		"another kind":         {`{"kind":"Network"}`, `spec.providerConfig.kind: Unsupported value: "Network": supported values: "NetworkConfig"`},
		"unknown field":        {`{"tunnel":{"enabeld":true}}`, `spec.providerConfig.tunnel.enabeld: Invalid value: "enabeld": is not a field of NetworkConfig`},
		"wrong case":           {`{"Mode":"taut"}`, `spec.providerConfig.Mode: Invalid value`},
		"field twice":          {`{"mode":"taut","mode":"slack"}`, `spec.providerConfig.mode: Duplicate value: "mode"`},
		"number as string":     {`{"mtu":1440}`, `spec.providerConfig.mtu: Invalid value: 1440: must be a string, not a number; write it in quotes`},
		"string as object":     {`{"tunnel":"yes"}`, `spec.providerConfig.tunnel: Invalid value: "yes": must be an object, not a string`},
		"string as bool":       {`{"tunnel":{"enabled":"yes"}}`, `spec.providerConfig.tunnel.enabled: Invalid value: "yes": must be true or false, not a string`},
		"a list":               {`[]`, `spec.providerConfig: Invalid value: "[]": must be an object`},
		"a scalar":             {`7`, `spec.providerConfig: Invalid value: "7": must be an object`},
		"cut off":              {`{"mode":`, `spec.providerConfig: Invalid value: "{\"mode\":": cannot be decoded`},
		"value not allowed":    {`{"mode":"tight"}`, `spec.providerConfig.mode: Unsupported value: "tight": supported values: "slack", "taut"`},
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

func TestHugeOrDeepConfigsGiveShortErrors(t *testing.T) {
	for name, config := range map[string]string{
		"a megabyte":   strings.Repeat("x", 1<<20),
		"deep nesting": strings.Repeat(`{"tunnel":`, 20000) + "1" + strings.Repeat("}", 20000),
		"deep lists":   `{"mode":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			result := build(t, config)
			g.Expect(result.Errors).NotTo(BeEmpty())
			g.Expect(len(lines(result.Errors))).To(BeNumerically("<", 500))
		})
	}
}

func FuzzBuildNeverPanics(f *testing.F) {
	for _, seed := range []string{"", "null", "{}", `{"mode":"taut"}`, `{"tunnel":{"enabled":true}}`, `{"mtu":1}`, `[`, `{"a":{"b":[1,{"c":null}]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, config []byte) {
		result := build(t, string(config))
		if len(result.Errors) == 0 && len(result.Objects.Shoot) == 0 {
			t.Error("what validates must render")
		}
	})
}
