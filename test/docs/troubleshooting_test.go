// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// The code has the messages that the page quotes. "…" stands for any text.
func TestMessagesOfTheTroubleshootingPageExist(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join(root, "docs/troubleshooting.md"))
	g.Expect(err).NotTo(HaveOccurred())
	var code strings.Builder
	for _, folder := range []string{"api", "internal", "operator"} {
		g.Expect(filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := os.ReadFile(path)
			code.Write(content)
			return err
		})).To(Succeed())
	}
	rows := regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]+ \| [^|]+ \|$`).FindAllStringSubmatch(string(page), -1)
	g.Expect(len(rows)).To(BeNumerically(">", 8))
	for _, row := range rows {
		for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			for fragment := range strings.SplitSeq(quoted[1], "…") {
				g.Expect(strings.Contains(code.String(), strings.TrimSpace(fragment))).To(BeTrue(), "%s: no message has %q", quoted[1], fragment)
			}
		}
	}
}
