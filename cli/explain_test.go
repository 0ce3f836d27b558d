// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// wireSchema is what hack/schema would make of wireConfig.
const wireSchema = `{
  "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": false,
  "description": "NetworkConfig says what the wire is like.",
  "properties": {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "colour": {"type": "string", "enum": ["red", "blue"], "description": "colour is red or blue.\nDefault: red; blue in a marsh.\nEffect: the colour of every wire.\nRule: both ends have the same,\nalways."},
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
wire   wire.example.com/v1
`,
		},
		{
			name: "the fields of a type", args: "explain wire",
			stdout: `
KIND:     NetworkConfig
VERSION:  wire.example.com/v1
SHOOT:    spec.networking.providerConfig
NETWORK:  spec.providerConfig

DESCRIPTION:
    NetworkConfig says what the wire is like.

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

The default of a field, its effect, and the effect of a change: trellis explain wire.FIELD
`,
		},
		{
			name: "what is in force where, and which change does what", args: "explain wire.colour",
			stdout: `
FIELD:    wire.colour <string>
VERSION:  wire.example.com/v1
SHOOT:    spec.networking.providerConfig.colour
NETWORK:  spec.providerConfig.colour

DESCRIPTION:
    colour is red or blue.

ALLOWED:  red, blue
DEFAULT:  red; blue in a marsh.
EFFECT:   the colour of every wire.
RULE:     both ends have the same, always.
CHANGE:   forbidden: both ends must have the same colour
`,
		},
		{name: "a pattern and an example", args: "explain wire.length", stdout: "~ALLOWED:  values that match ^[0-9]+$, for example \"7\"\n    - disruptive if it becomes 0: nothing is left of the wire\n    - rolling otherwise: the wire is pulled in anew"},
		{
			name: "an unknown field", args: "explain wire.color", exit: 1,
			stderr: "error: wire has no field \"color\" (fields: apiVersion, colour, kind, length, monitored); did you mean wire.colour?\n",
		},
		{
			name: "a field that is like none", args: "explain wire.taste", exit: 1,
			stderr: "error: wire has no field \"taste\" (fields: apiVersion, colour, kind, length, monitored)\n",
		},
		{name: "the path of an error in a Shoot", args: "explain wire.spec.networking.providerConfig.colour", stdout: "~FIELD:    wire.colour <string>"},
		{name: "that of a Network", args: "explain wire.spec.providerConfig.colour", stdout: "~FIELD:    wire.colour <string>"},
		{
			name: "a path without the type", args: "explain spec.providerConfig.colour", exit: 1,
			stderr: "error: the network type is missing: write wire.colour\n",
		},
		{name: "a misspelt type", args: "explain wier", exit: 1, stderr: "error: unknown network type \"wier\" (known: wire); did you mean wire?\n"},
		{
			name: "a megabyte for a field", args: "explain wire." + strings.Repeat("x", 1<<20), exit: 1,
			stderr: "~error: wire has no field \"" + strings.Repeat("x", 64) + "…\" (fields: apiVersion",
		},
		{name: "a field of what has none", args: "explain wire.colour.hue", exit: 1, stderr: "error: wire.colour has no field \"hue\"\n"},
		{name: "an unknown type", args: "explain rope.colour", exit: 1, stderr: "error: unknown network type \"rope\" (known: wire)\n"},
		{name: "two at once", args: "explain wire.colour wire.length", exit: 2, stderr: "~accepts at most 1 arg"},
	})
}

func TestSchemaIsForEditors(t *testing.T) {
	g := NewWithT(t)
	exit, stdout, stderr := call([]string{"schema", "wire"}, "")
	g.Expect(exit).To(Equal(0), stderr)
	var schema struct {
		Schema     string `json:"$schema"`
		Title      string
		Properties map[string]map[string]any
	}
	g.Expect(json.Unmarshal([]byte(stdout), &schema)).To(Succeed())
	g.Expect(schema.Schema).To(Equal("http://json-schema.org/draft-07/schema#"))
	g.Expect(schema.Title).To(Equal("NetworkConfig of wire.example.com/v1"))
	g.Expect(schema.Properties["apiVersion"]).To(HaveKeyWithValue("enum", []any{"wire.example.com/v1", "", nil}))
	g.Expect(schema.Properties["kind"]).To(HaveKeyWithValue("enum", []any{"NetworkConfig", "", nil}))
	g.Expect(schema.Properties["colour"]).To(HaveKeyWithValue("enum", []any{"red", "blue"}))
	runAll(t, []script{
		{name: "an unknown type", args: "schema rope", exit: 1, stderr: "error: unknown network type \"rope\" (known: wire)\n"},
		{name: "no type", args: "schema", exit: 2, stderr: "~accepts 1 arg"},
	})
}

func TestOriginsAreShownOnRequest(t *testing.T) {
	const table = `
PATH     VALUE   ORIGIN
colour   blue    infrastructure: marsh has no red
length   "7"     user
`
	inMarsh := network("net", "ns", `{length: "7"}`) + "  cloudProvider: marsh\n"
	runAll(t, []script{
		{
			name: "render keeps them off standard output", args: "render --show-origins --target seed -f -", stdin: inMarsh,
			stderr: "\nwarning: spec.providerConfig.length: is deprecated and has no effect\n" +
				"network ns/net: the network has no objects in the seed" + table,
		},
		{
			name: "validate has them in its report", args: "validate --show-origins -f -", stdin: inMarsh,
			stdout: "\nwarning: spec.providerConfig.length: is deprecated and has no effect\nnetwork ns/net: valid (wire, 1 warning)" + table,
		},
		{
			name: "the same of a Shoot", args: "validate --show-origins -f -",
			stdin: strings.Replace(shoot("mine", `{type: wire, providerConfig: {length: "7"}}`), "type: dry", "type: marsh", 1),
			stdout: "\nwarning: spec.networking.providerConfig.length: is deprecated and has no effect\n" +
				"shoot garden-dev/mine: valid (wire, 1 warning)" + table,
		},
		{
			name: "what the user has not written, but a webhook", args: "validate --show-origins -f -",
			stdin: network("net", "shoot--dev--mine", `{colour: blue, length: "7"}`) + "---\n" +
				shoot("mine", `{type: wire, providerConfig: {length: "7"}}`),
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
			stdin:  shoot("mine", "{type: wire, providerConfig: {colour: green}}"),
			stdout: "~invalid (wire, 1 error)",
		},
	})
}
