// SPDX-License-Identifier: Apache-2.0

package connectivity_test

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

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

// chromium runs a headless browser on a file. It skips the test where there is none.
func chromium(t *testing.T, flags ...string) (stdout, stderr string) {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("the page is not opened: there is no program chromium (Debian's package chromium)")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, program, append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--enable-logging=stderr",
		"--virtual-time-budget=10000", "--window-size=1200,2000", "--user-data-dir=" + t.TempDir(),
	}, flags...)...)
	var out, log bytes.Buffer
	command.Stdout, command.Stderr = &out, &log
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	return out.String(), log.String()
}

// A browser shows the page without an error, in light and in dark colours. With -artifacts, go
// test keeps what it looks like.
func TestABrowserShowsThePage(t *testing.T) {
	for nodes, rows := range map[int][]string{
		3:    {"3 of 3 shown", "24 of 24 shown"},
		1000: {"200 of 1000 shown", "200 of 23976 shown"},
	} {
		file := filepath.Join(t.TempDir(), "page.html")
		NewWithT(t).Expect(os.WriteFile(file, pageOf(t, nodes), 0o600)).To(Succeed())
		for scheme, isDark := range map[string]bool{"light": false, "dark": true} {
			t.Run(fmt.Sprintf("%d nodes, %s", nodes, scheme), func(t *testing.T) {
				g := NewWithT(t)
				preferred := "--blink-settings=preferredColorScheme=" + map[bool]string{true: "0", false: "1"}[isDark]
				dom, log := chromium(t, preferred, "--dump-dom", "file://"+file)
				g.Expect(log).NotTo(ContainSubstring("CONSOLE"))
				for _, each := range rows {
					g.Expect(dom).To(ContainSubstring(">" + each + "<"))
				}
				_, table, _ := strings.Cut(dom, `id="targets-table"`)
				first, _, _ := strings.Cut(table, "</tbody>")
				g.Expect(strings.Index(first, "FAILING")).To(BeNumerically("<", strings.Index(first, "reached")), "failing targets come first")

				picture := filepath.Join(t.ArtifactDir(), fmt.Sprintf("%d-%s.png", nodes, scheme))
				_, log = chromium(t, preferred, "--screenshot="+picture, "file://"+file)
				g.Expect(log).NotTo(ContainSubstring("CONSOLE"))
				content, err := os.ReadFile(picture)
				g.Expect(err).NotTo(HaveOccurred())
				shown, err := png.Decode(bytes.NewReader(content))
				g.Expect(err).NotTo(HaveOccurred())
				red, green, blue, _ := shown.At(2, 2).RGBA()
				g.Expect(red+green+blue < 3*0x4000).To(Equal(isDark), "the background at the corner is %x %x %x", red>>8, green>>8, blue>>8)
			})
		}
	}
}
