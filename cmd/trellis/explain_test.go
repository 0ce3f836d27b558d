// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/cli"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

func run(t *testing.T, args ...string) string {
	t.Helper()
	var out, problems bytes.Buffer
	exit := cli.Run(args, cli.Streams{In: &bytes.Buffer{}, Out: &out, Err: &problems}, plugins.All(), providers.All())
	NewWithT(t).Expect(exit).To(Equal(cli.ExitOK), problems.String())
	return out.String()
}

// schema is a block of a schema, or a value in one.
type schema struct {
	Properties map[string]schema
}

// A field that is added to a config is explained, or this fails.
func TestEveryFieldOfEveryPluginIsExplained(t *testing.T) {
	for _, one := range plugins.All() {
		var root schema
		NewWithT(t).Expect(json.Unmarshal([]byte(run(t, "schema", one.Type)), &root)).To(Succeed())
		delete(root.Properties, "apiVersion")
		delete(root.Properties, "kind")
		expectExplained(t, one.Type, root)
	}
}

func expectExplained(t *testing.T, path string, field schema) {
	t.Run(path, func(t *testing.T) {
		g := NewWithT(t)
		text := run(t, "explain", path)
		g.Expect(text).To(ContainSubstring("\nDESCRIPTION:\n"))
		if len(field.Properties) > 0 {
			g.Expect(text).To(ContainSubstring("\nFIELDS:\n"))
			return
		}
		// A field that needs more than a screen has many effects.
		g.Expect(strings.Count(text, "\n") <= 24 || strings.Count(text, "\n    - ") > 2).To(BeTrue(), text)
		g.Expect(text).To(MatchRegexp(`\nDEFAULT:  +\S`))
		g.Expect(text).To(MatchRegexp(`\nCHANGE:( +|\n    - )(safe|rolling|disruptive|forbidden)`))
	})
	for _, name := range slices.Sorted(maps.Keys(field.Properties)) {
		expectExplained(t, path+"."+name, field.Properties[name])
	}
}

// What a newcomer reads of a field comes from the type, the defaults and the
// classes of changes together.
func TestAFieldIsExplainedForNewcomers(t *testing.T) {
	text := run(t, "explain", "calico.overlay.enabled")
	for _, part := range []string{
		"FIELD:    calico.overlay.enabled <boolean>", "encapsulate", "true, false",
		"DEFAULT:  absent", "disruptive", "backend",
	} {
		NewWithT(t).Expect(text).To(ContainSubstring(part))
	}
}
