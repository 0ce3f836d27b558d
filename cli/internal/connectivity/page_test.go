// SPDX-License-Identifier: Apache-2.0

package connectivity_test

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/cli/internal/connectivity"
)

func pageOf(t *testing.T, nodes int) []byte {
	t.Helper()
	page, err := connectivity.Of("shoot--dev--mine/mine", simulated(nodes), now).HTML()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return page
}

func TestAPageForAThousandNodesIsSmall(t *testing.T) {
	size := len(pageOf(t, 1000))
	t.Logf("%d kB for 1,000 nodes with 23,976 targets", size/1000)
	NewWithT(t).Expect(size).To(BeNumerically("<", 2_000_000))
}

// What a shoot writes is text on the page, wherever it stands there.
func TestAShootCannotWriteThePage(t *testing.T) {
	g := NewWithT(t)
	const attack = `</script><script>alert(1)</script><img src=https://example.com onerror=alert(1)>"'`
	reports := simulated(3)
	for i := range reports {
		reports[i].Name = attack + reports[i].Name
		for j := range reports[i].Report.Checks {
			results := reports[i].Report.Checks[j].Results
			for k := range results {
				results[k].Name, results[k].Error = attack+results[k].Name, attack
			}
		}
	}
	page, err := connectivity.Of(attack, reports, now).HTML()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.Count(string(page), "<script")).To(Equal(2))
	g.Expect(string(page)).NotTo(ContainSubstring("<img"))
	g.Expect(string(page)).To(ContainSubstring("default-src &#39;none&#39;; script-src &#39;sha256-"))
	g.Expect(regexp.MustCompile(`(?i)<[^>]*(src|href)="?(https?:)?//`).FindString(string(page))).To(BeEmpty(), "a request to another host")
}

// A browser shows the page without an error, in light and in dark colours. With -artifacts, go
// test keeps what it looks like.
func TestABrowserShowsThePage(t *testing.T) {
	for nodes, rows := range map[int][]string{
		3:    {"3 of 3 shown", "24 of 24 shown"},
		1000: {"200 of 1000 shown", "200 of 23976 shown"},
	} {
		page := pageOf(t, nodes)
		for scheme, isDark := range map[string]bool{"light": false, "dark": true} {
			t.Run(fmt.Sprintf("%d nodes, %s", nodes, scheme), func(t *testing.T) {
				g := NewWithT(t)
				b := openPage(t, page, scheme)
				g.Expect([]string{b.shown("nodes"), b.shown("targets")}).To(Equal(rows))
				g.Expect(b.column("targets", 5)[:2]).To(Equal([]string{"FAILING", "FAILING"}), "failing targets come first")

				content := b.picture()
				g.Expect(os.WriteFile(filepath.Join(t.ArtifactDir(), fmt.Sprintf("%d-%s.png", nodes, scheme)), content, 0o600)).To(Succeed())
				shown, err := png.Decode(bytes.NewReader(content))
				g.Expect(err).NotTo(HaveOccurred())
				red, green, blue, _ := shown.At(2, 2).RGBA()
				g.Expect(red+green+blue < 3*0x4000).To(Equal(isDark), "the background at the corner is %x %x %x", red>>8, green>>8, blue>>8)
				g.Expect(b.complaints).To(BeEmpty())
			})
		}
	}
}
