// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"strings"

	"github.com/trellis-network/trellis/plugin"
)

// brokenWords are READMEs that say something else than the types do.
var brokenWords = []broken{
	{promise: "readme", how: "none", says: "users have nothing to read", options: []Option{WithREADME("testdata/none.md")}},
	{promise: "readme", how: "a field is missing", says: "does not tell what `mtu` is", readme: func(text string) string {
		return strings.Replace(text, "| `mtu` | `1400` | rolling |\n", "", 1)
	}},
	{promise: "readme", how: "a field of what is in a list is missing", says: "does not name `peers[].address`", readme: func(text string) string {
		return strings.Replace(text, "; each has an `peers[].address`", "", 1)
	}},
	{promise: "readme", how: "a field that there is not", says: "has a row for `size`, which is no field", readme: func(text string) string {
		return text + "| `size` | absent | safe |\n"
	}},
	{promise: "readme", how: "another default than in the doc comment", says: `"Default: 1400; less is possible."`, readme: func(text string) string {
		return strings.Replace(text, "`1400`", "`1500`", 1)
	}},
	{promise: "readme", how: "another default than is in force", says: "says that the default of `logging.enabled` is \"`true`\", and false is in force", readme: func(text string) string {
		return strings.Replace(text, "`false`", "`true`", 1)
	}},
	{promise: "readme", how: "another default for one of the resources", says: `does not say "60Mi"`, wrong: func(f *fake[config]) {
		description := sound().describe()
		description.ConfigSchema = []byte(strings.Replace(soundSchema, "memory 50Mi", "memory 60Mi", 1))
		f.describe = func() plugin.Description { return description }
	}},
	{promise: "readme", how: "another class", says: "says in its last column that a change of `mode` is \"safe\"", readme: func(text string) string {
		return strings.Replace(text, "disruptive", "safe", 1)
	}},
	{promise: "readme", how: "an example that is wrong", says: "is refused in every cluster", readme: func(text string) string {
		return strings.Replace(text, "mode: routed", "mode: routing", 1)
	}},
}
