// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"strings"
)

// brokenWords are READMEs that say something else than the types do.
var brokenWords = []broken{
	{check: "readme", how: "none", says: "there is no README for users", options: []Option{WithREADME("testdata/none.md")}},
	{check: "readme", how: "a field is missing", says: "does not describe `mtu`", readme: func(text string) string {
		return strings.Replace(text, "| `mtu` | `1400` | rolling |\n", "", 1)
	}},
	{check: "readme", how: "a field of what is in a list is missing", says: "does not name `peers[].address`", readme: func(text string) string {
		return strings.Replace(text, "; each has an `peers[].address`", "", 1)
	}},
	{check: "readme", how: "a field that does not exist", says: "has a row for `size`, which is no field", readme: func(text string) string {
		return text + "| `size` | absent | safe |\n"
	}},
	{check: "readme", how: "another number than is in force", says: "says that the default of `mtu` is \"`1500`\", and 1400 is in force", readme: func(text string) string {
		return strings.Replace(text, "`1400`", "`1500`", 1)
	}},
	{check: "readme", how: "another default than is in force", says: "says that the default of `logging.enabled` is \"`true`\", and false is in force", readme: func(text string) string {
		return strings.Replace(text, "`false`", "`true`", 1)
	}},
	{check: "readme", how: "another default for one of the resources", says: "says that the default of `requests.memory` is \"`60Mi`\"", readme: func(text string) string {
		return strings.Replace(text, "`50Mi`", "`60Mi`", 1)
	}},
	{check: "readme", how: "another class", says: "says in its last column that a change of `mode` is \"safe\"", readme: func(text string) string {
		return strings.Replace(text, "disruptive", "safe", 1)
	}},
	{check: "readme", how: "an example that is wrong", says: "is refused in every cluster", readme: func(text string) string {
		return strings.Replace(text, "mode: routed", "mode: routing", 1)
	}},
}
