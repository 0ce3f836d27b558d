// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugins/cilium"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

func readme(t *testing.T) string {
	t.Helper()
	return file(t, "README.md")
}

func TestREADMEHasExactlyTheOptionsThatThereAre(t *testing.T) {
	g := NewWithT(t)
	_, options, found := strings.Cut(readme(t), "## Options\n")
	g.Expect(found).To(BeTrue())
	options, _, _ = strings.Cut(options, "\n## ")
	var documented []string
	for _, line := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(options, -1) {
		documented = append(documented, line[1])
	}
	g.Expect(documented).To(ConsistOf(paths()))
}

func TestREADMETellsTheClassOfEveryChange(t *testing.T) {
	p, text := cilium.New(), readme(t)
	for _, path := range paths() {
		t.Run(path, func(t *testing.T) {
			line := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(path) + "` \\|.*\\|([^|]+)\\|$").FindStringSubmatch(text)
			NewWithT(t).Expect(line).NotTo(BeNil())
			class, _ := p.Classify(path, &v1alpha1.NetworkConfig{}, &v1alpha1.NetworkConfig{})
			NewWithT(t).Expect(line[1]).To(ContainSubstring(string(class)))
		})
	}
}

func TestREADMEsExamplesAreValid(t *testing.T) {
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(readme(t), -1)
	NewWithT(t).Expect(examples).NotTo(BeEmpty())
	for _, example := range examples {
		build(t, example[1])
	}
}
