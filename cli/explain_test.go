// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// noopSchema is what hack/schema would make of noopConfig.
const noopSchema = `{
  "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": false,
  "description": "NetworkConfig configures the network.",
  "properties": {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "colour": {"type": "string", "enum": ["red", "blue"], "description": "colour is red or blue.\nDefault: red; blue in a infra.\nEffect: the colour of every pod.\nRule: pods keep it,\nalways."},
    "length": {"type": "string", "pattern": "^[0-9]+$", "examples": ["7"], "description": "length is a number."},
    "monitored": {"type": "boolean"}
  }
}`

func TestExplainTellsAllAboutAField(t *testing.T) {
	runAll(t, []script{
		{
			name: "the types", args: "explain",
			stdout: `
TYPE   CONFIG VERSION
noop   noop.example.com/v1
`,
		},
		{
			name: "the fields of a type", args: "explain noop",
			stdout: `
KIND:     NetworkConfig
VERSION:  noop.example.com/v1
SHOOT:    spec.networking.providerConfig
NETWORK:  spec.providerConfig

DESCRIPTION:
    NetworkConfig configures the network.

FIELDS:
  apiVersion <string>
    apiVersion of the config, not of the object that contains it.
  colour <string>
    colour is red or blue.
  kind <string>
    kind of the config: NetworkConfig.
  length <string>
    length is a number.
  monitored <boolean>

The default of a field, its effect, and the effect of a change: trellis explain noop.FIELD
`,
		},
		{
			name: "what is in force where, and which change does what", args: "explain noop.colour",
			stdout: `
FIELD:    noop.colour <string>
VERSION:  noop.example.com/v1
SHOOT:    spec.networking.providerConfig.colour
NETWORK:  spec.providerConfig.colour

DESCRIPTION:
    colour is red or blue.

ALLOWED:  red, blue
DEFAULT:  red; blue in a infra.
EFFECT:   the colour of every pod.
RULE:     pods keep it, always.
CHANGE:   forbidden: pods keep the former colour
`,
		},
		{name: "a pattern and an example", args: "explain noop.length", stdout: "~ALLOWED:  values that match ^[0-9]+$, for example \"7\"\n    - disruptive if it becomes 0: traffic stops\n    - rolling otherwise: the agents restart"},
		{
			name: "an unknown field", args: "explain noop.color", exit: 1,
			stderr: "error: noop has no field \"color\" (fields: apiVersion, colour, kind, length, monitored); did you mean noop.colour?\n",
		},
		{
			name: "a field that is like none", args: "explain noop.taste", exit: 1,
			stderr: "error: noop has no field \"taste\" (fields: apiVersion, colour, kind, length, monitored)\n",
		},
		{name: "the path of an error in a Shoot", args: "explain noop.spec.networking.providerConfig.colour", stdout: "~FIELD:    noop.colour <string>"},
		{name: "that of a Network", args: "explain noop.spec.providerConfig.colour", stdout: "~FIELD:    noop.colour <string>"},
		{
			name: "a path without the type", args: "explain spec.providerConfig.colour", exit: 1,
			stderr: "error: the network type is missing: write noop.colour\n",
		},
		{name: "a misspelt type", args: "explain nopo", exit: 1, stderr: "error: unknown network type \"nopo\" (known: noop); did you mean noop?\n"},
		{
			name: "a megabyte for a field", args: "explain noop." + strings.Repeat("x", 1<<20), exit: 1,
			stderr: "~error: noop has no field \"" + strings.Repeat("x", 64) + "…\" (fields: apiVersion",
		},
		{name: "a field of what has none", args: "explain noop.colour.hue", exit: 1, stderr: "error: noop.colour has no field \"hue\"\n"},
		{name: "an unknown type", args: "explain other.colour", exit: 1, stderr: "error: unknown network type \"other\" (known: noop)\n"},
		{name: "two at once", args: "explain noop.colour noop.length", exit: 2, stderr: "~accepts at most 1 arg"},
	})
}

func TestSchemaIsForEditors(t *testing.T) {
	g := NewWithT(t)
	exit, stdout, stderr := call([]string{"schema", "noop"}, "")
	g.Expect(exit).To(Equal(0), stderr)
	var schema struct {
		Schema     string `json:"$schema"`
		Title      string
		Properties map[string]map[string]any
	}
	g.Expect(json.Unmarshal([]byte(stdout), &schema)).To(Succeed())
	g.Expect(schema.Schema).To(Equal("http://json-schema.org/draft-07/schema#"))
	g.Expect(schema.Title).To(Equal("NetworkConfig of noop.example.com/v1"))
	g.Expect(schema.Properties["apiVersion"]).To(HaveKeyWithValue("enum", []any{"noop.example.com/v1", "", nil}))
	g.Expect(schema.Properties["kind"]).To(HaveKeyWithValue("enum", []any{"NetworkConfig", "", nil}))
	g.Expect(schema.Properties["colour"]).To(HaveKeyWithValue("enum", []any{"red", "blue"}))
	runAll(t, []script{
		{name: "an unknown type", args: "schema other", exit: 1, stderr: "error: unknown network type \"other\" (known: noop)\n"},
		{name: "no type", args: "schema", exit: 2, stderr: "~accepts 1 arg"},
	})
}

func TestOriginsAreShownOnRequest(t *testing.T) {
	const table = `
PATH     VALUE   ORIGIN
colour   blue    infrastructure: infra has no red
length   "7"     user
`
	inInfra := network("net", "ns", `{length: "7"}`) + "  cloudProvider: infra\n"
	runAll(t, []script{
		{
			name: "render keeps them off standard output", args: "render --show-origins --target seed -f -", stdin: inInfra,
			stderr: "\nwarning: spec.providerConfig.length: is deprecated and has no effect\n" +
				"network ns/net: the network has no objects in the seed" + table,
		},
		{
			name: "validate has them in its report", args: "validate --show-origins -f -", stdin: inInfra,
			stdout: "\nwarning: spec.providerConfig.length: is deprecated and has no effect\nnetwork ns/net: valid (noop, 1 warning)" + table,
		},
		{
			name: "the same of a Shoot", args: "validate --show-origins -f -",
			stdin: strings.Replace(shoot("mine", `{type: noop, providerConfig: {length: "7"}}`), "type: dry", "type: infra", 1),
			stdout: "\nwarning: spec.networking.providerConfig.length: is deprecated and has no effect\n" +
				"shoot garden-dev/mine: valid (noop, 1 warning)" + table,
		},
		{
			name: "what the user has not written, but a webhook", args: "validate --show-origins -f -",
			stdin: network("net", "shoot--dev--mine", `{colour: blue, length: "7"}`) + "---\n" +
				shoot("mine", `{type: noop, providerConfig: {length: "7"}}`),
			stdout: `~colour   blue    infrastructure: set in the Network on its way to the seed
				length   "7"     user`,
		},
		{
			name: "what is kept of a running network", args: "validate --show-origins -f -",
			stdin:  network("net", "ns", "{}") + strings.Replace(appliedRed, "red", "blue", 1),
			stdout: "~colour   blue    applied: kept from when it was first applied; today's default is red",
		},
		{
			name: "what the user has written like the default is the user's", args: "validate --show-origins -f -",
			stdin: network("net", "ns", "{colour: red}"), stdout: "~colour   red     user",
		},
		{
			name: "there are none of what is refused before", args: "validate --show-origins -f -", exit: 1,
			stdin:  shoot("mine", "{type: noop, providerConfig: {colour: green}}"),
			stdout: "~invalid (noop, 1 error)",
		},
	})
}
