// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"testing"

	. "github.com/onsi/gomega"
)

// Each of these goes by more than config and facts, which shows in no test that does not
// know what else there is.
func TestSourcesTellWhatNobodySees(t *testing.T) {
	const source = "testdata/source/"
	for name, test := range map[string]struct{ source, says string }{
		"an environment variable":      {source + "environment", source + "environment/plugin.go:17 uses sys.LookupEnv, which a hook comes to"},
		"the name of the host":         {source + "hostname", "plugin.go:8 uses os.Hostname"},
		"the time":                     {source + "clock", "plugin.go:10 uses time.Now"},
		"chance, in a package below":   {source + "helper", "inner/plugin.go:9 uses rand.IntN"},
		"a source that is elsewhere":   {"../system", "the source of the plugin is not in ../system; tell Run where it is: plugintest.WithSource(path)"},
		"a source that there is not":   {"nowhere", "the source of the plugin cannot be read"},
		"nothing, beside what no hook": {source + "sound", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := &report{}
			(&suite{source: test.source}).checkSources(found)
			if test.says == "" {
				g.Expect(found.problems).To(BeEmpty())
				return
			}
			g.Expect(found.problems).To(ConsistOf(ContainSubstring(test.says)))
		})
	}
}
