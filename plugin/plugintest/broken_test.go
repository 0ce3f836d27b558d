// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

// broken is a plugin that fails one check.
type broken struct {
	check, how string
	// says is part of a problem that must be reported.
	says string
	// Either what is wrong with the sound plugin, or another plugin.
	wrong  func(*fake[config])
	plugin func() plugin.Plugin
	// options are tested to Run as well, and readme changes the README.
	options []Option
	readme  func(text string) string
}

func (b broken) make() plugin.Plugin {
	if b.plugin != nil {
		return b.plugin()
	}
	f := sound()
	if b.wrong != nil {
		b.wrong(f)
	}
	return plugin.New[config](f)
}

func (b broken) allOptions(t *testing.T) []Option {
	options := append(soundOptions(), b.options...)
	if b.readme == nil {
		return options
	}
	raw, err := os.ReadFile("testdata/README.md")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(name, []byte(b.readme(string(raw))), 0o600); err != nil {
		t.Fatal(err)
	}
	return append(options, WithREADME(name))
}

// allBroken are those that need no API server, each list in a file of its own.
var allBroken = [][]broken{brokenHooks, brokenDefaults, brokenFacts, brokenTypes, brokenObjects, brokenWorkloads, brokenRights, brokenWords, brokenMutators, brokenDataPaths, brokenTransitions, brokenExchanges, brokenShoots}

// problems are those found, by check.
func problems(t *testing.T, p plugin.Plugin, options []Option) map[string][]string {
	t.Helper()
	s, err := newSuite(p, options)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, c := range checks {
		if all := reportOn(s, c).problems; len(all) > 0 {
			found[c.name] = all
		}
	}
	return found
}

func TestASoundPluginPassesAllChecks(t *testing.T) {
	NewWithT(t).Expect(problems(t, broken{}.make(), soundOptions())).To(BeEmpty())
}

func TestABrokenPluginFailsExactlyOneCheck(t *testing.T) {
	for _, list := range allBroken {
		for _, b := range list {
			t.Run(b.check+"/"+b.how, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				found := problems(t, b.make(), b.allOptions(t))
				g.Expect(found).To(HaveLen(1))
				g.Expect(found).To(HaveKeyWithValue(b.check, ContainElement(ContainSubstring(b.says))))
			})
		}
	}
}

func TestEveryCheckFindsABrokenPlugin(t *testing.T) {
	tested := map[string]bool{"api-server": true} // in apiserver_test.go
	for _, list := range allBroken {
		for _, b := range list {
			tested[b.check] = true
		}
	}
	for _, c := range checks {
		NewWithT(t).Expect(tested).To(HaveKey(c.name))
	}
}
