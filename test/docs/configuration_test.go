// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// fields returns the fields that the first cells of a table in a section name.
func fields(t *testing.T, document, section string) (all []string) {
	t.Helper()
	g := NewWithT(t)
	content, err := os.ReadFile(filepath.Join(root, document))
	g.Expect(err).NotTo(HaveOccurred())
	_, table, found := strings.Cut(string(content), "\n## "+section+"\n")
	g.Expect(found).To(BeTrue())
	table, _, _ = strings.Cut(table, "\n## ")
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, match := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
				all = append(all, strings.ReplaceAll(match[1], "[]", ""))
			}
		}
	}
	return all
}

// Each setting of the operator is there, by itself or with the block that it is in, and no other.
func TestThePageAboutOperatingSaysWhenToChangeEachSetting(t *testing.T) {
	g := NewWithT(t)
	all, explained := fields(t, "docs/operator-configuration.md", "Fields"), fields(t, "docs/operate.md", "Configuration")
	isIn := func(field, block string) bool { return field == block || strings.HasPrefix(field, block+".") }
	for _, field := range all {
		isBlock := slices.ContainsFunc(all, func(other string) bool { return other != field && isIn(other, field) })
		if !isBlock {
			g.Expect(slices.ContainsFunc(explained, func(block string) bool { return isIn(field, block) })).To(BeTrue(), field)
		}
	}
	for _, one := range explained {
		g.Expect(all).To(ContainElement(one))
	}
}
