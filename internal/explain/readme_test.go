// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/internal/explain"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins"
)

// spelling is of what nobody can guess without knowing the field: values that mean the
// same, networks that take several other fields or a feature gate, and changes of IP
// families that are refused whatever the field.
var spelling = regexp.MustCompile(`(safe|rolling) if (only the spelling changes|the value only becomes explicit)|rolling if BIRD makes routes|safe where the exporter cannot run|rolling with .encryption.strictMode|safe if nothing is encrypted|forbidden if the network loses IPv4|rolling if the network has no IPv4`)

var classWord = regexp.MustCompile(`\b(safe|rolling|disruptive|forbidden)\b`)

// A README's row names the classes that a change can have, and explain finds them all.
func TestEveryClassOfTheREADMEIsExplained(t *testing.T) {
	for _, one := range plugins.All() {
		rows := rowsOf(t, one.Type)
		NewWithT(t).Expect(rows).NotTo(BeEmpty(), one.Type)
		for field, row := range rows {
			t.Run(one.Type+"."+field, func(t *testing.T) {
				e := explained(t, one.Type+"."+field)
				var classes []plugin.ChangeClass
				for _, change := range e.Changes {
					classes = append(classes, change.Class)
				}
				if one.Type+"."+field == "cilium.tunnel" {
					row = strings.TrimSuffix(row, "rolling if packets travel as before |") // overlay is what changes then
				}
				for _, word := range classWord.FindAllString(spelling.ReplaceAllString(row, ""), -1) {
					NewWithT(t).Expect(classes).To(ContainElement(plugin.ChangeClass(word)), row)
				}
			})
		}
	}
}

// rowsOf are the last columns of the README's options, by field.
func rowsOf(t *testing.T, networkType string) map[string]string {
	text, err := os.ReadFile(filepath.Join("..", "..", "plugins", networkType, "README.md"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	_, options, _ := strings.Cut(string(text), "\n## Options\n")
	options, _, _ = strings.Cut(options, "\n## ")
	rows := map[string]string{}
	for line := range strings.Lines(options) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if name, isField := strings.CutPrefix(cells[0], "| `"); isField && len(cells) >= 5 {
			rows[strings.TrimSuffix(name, "`")] = cells[len(cells)-1]
		}
	}
	return rows
}

// Together with others it would bring another ipam.type, which is refused.
func TestChangesThatAreRefusedHaveNoOtherClass(t *testing.T) {
	for _, change := range explained(t, "calico.vxlan.enabled").Changes {
		for _, when := range change.When {
			NewWithT(t).Expect(when).NotTo(HavePrefix("together with"))
		}
	}
}

// What is told is so in the circumstances that are named.
func TestClassesThatTakeOtherFieldsAreToldWithThem(t *testing.T) {
	for _, test := range []struct {
		field, when string
		class       plugin.ChangeClass
	}{
		{"calico.snatToUpstreamDNS.enabled", "with overlay.enabled: false", plugin.Rolling},
		{"calico.vxlan.enabled", "with overlay.enabled: true, ipam.type: calico-ipam", plugin.Disruptive},
		{"cilium.encryption.strictMode", "with encryption.enabled: true, encryption.mode: wireguard", plugin.Disruptive},
		{"cilium.ipv4NativeRoutingCIDREnabled", "with tunnel: disabled", plugin.Disruptive},
		{"cilium.ipv6.enabled", "if the network goes from both families to IPv4 alone", plugin.Disruptive},
		{"flannel.ipFamilies", "if the network goes from IPv4 alone to both families", plugin.Rolling},
		{"flannel.backend.port", "together with backend.type: host-gw", plugin.Rolling},
	} {
		t.Run(test.field, func(t *testing.T) {
			NewWithT(t).Expect(slices.ContainsFunc(explained(t, test.field).Changes, func(c explain.Change) bool {
				return c.Class == test.class && slices.Contains(c.When, test.when)
			})).To(BeTrue())
		})
	}
}
