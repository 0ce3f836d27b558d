// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico"
)

// edit changes a config. What is nil is left out.
type edit map[string]any

// advice is what warnings tell users to do, by how they say it. A message may give
// more than one.
var advice = map[string]edit{
	"write bird":       {"backend": "bird"},
	"or bird":          {"backend": "bird"},
	"write none where": {"backend": "none"},
	"leave it out":     {"ipv4.pool": nil},
	"leave backend, overlay, vxlan, ipv4.pool and ipv4.mode out": {"backend": nil, "overlay": nil, "vxlan": nil, "ipv4.pool": nil, "ipv4.mode": nil},
	"write overlay.enabled: true and vxlan.enabled: true, without backend, ipv4.pool and ipv4.mode": {
		"overlay.enabled": true, "vxlan.enabled": true, "backend": nil, "ipv4.pool": nil, "ipv4.mode": nil},
	"write false, and nothing of backend, vxlan, ipv4.pool and ipv4.mode": {
		"overlay.enabled": false, "vxlan": nil, "backend": nil, "ipv4.pool": nil, "ipv4.mode": nil},
	"where all nodes are in one layer 2 segment write overlay.enabled: false and overlay.createPodRoutes: true, and nothing of backend, vxlan, ipv4.pool and ipv4.mode": {
		"overlay.enabled": false, "overlay.createPodRoutes": true, "vxlan": nil, "backend": nil, "ipv4.pool": nil, "ipv4.mode": nil},
}

// withoutIPIP is an infrastructure of which it is not known whether it makes routes.
func withoutIPIP(facts *plugin.Input) {
	facts.Infrastructure = plugin.Infrastructure{NoIPIP: true, OwnNetwork: true}
}

var soundsLikeAdvice = regexp.MustCompile(`\b(write|leave) `)

// A user who does what a warning advises is not warned of it again, nor of anything else;
// and may do so in a running network, unless the warning says otherwise.
func TestAdviceLeadsToAConfigThatIsNotWarnedOf(t *testing.T) {
	const unrouted = "both families without routes"
	families := map[string]option{"IPv4": withNodes("", nil), "both families": dualStack, "IPv6": ipv6Only, "IPv4 without IP-in-IP": withoutIPIP,
		unrouted: func(f *plugin.Input) {
			dualStack(f)
			f.Infrastructure = plugin.Infrastructure{NoPodRoutes: true, OwnNetwork: true}
		}}
	followed := map[string]bool{}
	for _, config := range combined(
		[]string{"{", "{overlay: {enabled: true}, ", "{overlay: {enabled: false}, "},
		[]string{"", "backend: none, ", "backend: bird, ", "backend: vxlan, "},
		[]string{"", "vxlan: {enabled: false}, ", "vxlan: {enabled: true}, "},
		[]string{"}", "ipv4: {pool: ipip}}", "ipv4: {mode: Never}}", "ipv4: {mode: Always}}",
			"ipv4: {pool: vxlan}}", "ipv4: {pool: vxlan, mode: Never}}", "ipv4: {pool: vxlan, mode: Always}}", "ipv4: {pool: ipip, mode: CrossSubnet}}"},
	) {
		for name, option := range families {
			if name == "IPv6" && strings.Contains(config, "ipv4") || name == unrouted && !strings.Contains(config, "overlay: {enabled: true}") {
				continue // which is refused
			}
			all := warningsOf(t, config, option)
			for _, warning := range all {
				given := false
				for words, edits := range advice {
					if strings.Contains(warning.Message, words) {
						given, followed[words] = true, true
						after := edited(t, config, edits)
						followAdvice(t, all, name+", "+config, words, after, option)
						if !isForNewNetworks(warning.Message, words) {
							NewWithT(t).Expect(changed(t, config, after, option).Errors).To(BeEmpty(), "%s, %s: %v", name, config, warning)
						}
					}
				}
				NewWithT(t).Expect(given || !soundsLikeAdvice.MatchString(warning.Message)).To(BeTrue(), "the advice of %v is not followed", warning)
			}
		}
	}
	NewWithT(t).Expect(followed).To(HaveLen(len(advice)), "no warning gives some advice")
}

func isForNewNetworks(message, words string) bool {
	return strings.Contains(message, "in a new network "+words) || strings.Contains(message, words+" of a new network")
}

func followAdvice(t *testing.T, before []plugin.Warning, where, words, after string, option option) {
	t.Helper()
	others := map[string]bool{} // what is warned of for other reasons
	for _, warning := range before {
		others[warning.Field] = others[warning.Field] || !strings.Contains(warning.Message, words)
	}
	for _, warning := range warningsOf(t, after, option) {
		NewWithT(t).Expect(others[warning.Field]).To(BeTrue(), "%s: %q leads to %s: %v", where, words, after, warning)
		NewWithT(t).Expect(warning.Message).NotTo(ContainSubstring(words), "%s: %q leads to %s, which leads nowhere else", where, words, after)
	}
}

func warningsOf(t *testing.T, config string, option option) []plugin.Warning {
	t.Helper()
	p, err := pipeline.New([]plugin.Plugin{calico.New()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	result := p.Build(requestFor(t, config, option))
	NewWithT(t).Expect(result.Errors).To(BeEmpty(), config)
	return result.Warnings
}

func edited(t *testing.T, config string, edits edit) string {
	t.Helper()
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(config), &object); err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(edits)) {
		block, name, nested := strings.Cut(path, ".")
		in := object
		if nested {
			inner, _ := object[block].(map[string]any)
			if inner == nil {
				inner = map[string]any{}
			}
			in, object[block] = inner, inner
		} else {
			name = block
		}
		if in[name] = edits[path]; edits[path] == nil {
			delete(in, name)
		}
		if nested && len(in) == 0 {
			delete(object, block)
		}
	}
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
