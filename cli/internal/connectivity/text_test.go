// SPDX-License-Identifier: Apache-2.0

package connectivity_test

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/cli/internal/connectivity"
)

// expectGolden compares a text with a file of testdata, which shows reviewers what users see.
func expectGolden(t *testing.T, text, name string) {
	t.Helper()
	g := NewWithT(t)
	if os.Getenv("UPDATE") != "" {
		g.Expect(os.WriteFile("testdata/"+name, []byte(text), 0o644)).To(Succeed())
	}
	want, err := os.ReadFile("testdata/" + name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(Equal(string(want)))
}

func TestFewNodesAreAMatrix(t *testing.T) {
	expectGolden(t, connectivity.Of("shoot--dev--mine/mine", simulated(3), now).Text(100), "three.txt")
}

func TestManyNodesAreASummary(t *testing.T) {
	expectGolden(t, connectivity.Of("shoot--dev--mine/mine", simulated(1000), now).Text(100), "thousand.txt")
}

func TestAllIsWell(t *testing.T) {
	reports := simulated(2)
	reports[1].ManagedFields = reports[0].ManagedFields
	report := connectivity.Of("shoot--dev--mine/mine", reports, now)
	NewWithT(t).Expect(report.Fails()).To(BeFalse())
	expectGolden(t, report.Text(100), "well.txt")
}

func TestAMatrixThatDoesNotFitIsASummary(t *testing.T) {
	for _, width := range []int{20, 40, 60, 80, 120} {
		text := connectivity.Of("shoot--dev--mine/mine", simulated(12), now).Text(width)
		for line := range strings.Lines(text) {
			NewWithT(t).Expect(utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))).To(BeNumerically("<=", width))
		}
		NewWithT(t).Expect(strings.Contains(text, "(row)")).To(BeFalse())
	}
	NewWithT(t).Expect(connectivity.Of("shoot--dev--mine/mine", simulated(12), now).Text(0)).To(ContainSubstring("(row)"), "lines of any length")
}

func TestTheClocksOfNodesMakeNoDifference(t *testing.T) {
	g := NewWithT(t)
	report := connectivity.Of("mine", simulated(3), now)
	for _, edge := range report.Edges {
		if edge.Failing {
			g.Expect(now.Sub(edge.FailingSince.Time).String()).To(Equal("7m0s"), "the node wrote a time of an hour before")
			return
		}
	}
	t.Fatal("nothing fails")
}

func TestAShootCannotFillTheMemoryNorTheScreen(t *testing.T) {
	g := NewWithT(t)
	one := simulated(3)[0]
	check := one.Report.Checks[0]
	check.Results = nil
	for range 1000 {
		check.Results = append(check.Results, connectivityv1alpha1.Result{
			Name: strings.Repeat("\x1b[2J", 10_000), Error: strings.Repeat("\u202e", 10_000), Attempts: -1, LatencyMicroseconds: -5, ConsecutiveFailures: 9,
		})
	}
	one.Report.Checks = nil
	for range 1000 {
		one.Report.Checks = append(one.Report.Checks, check, connectivityv1alpha1.Check{Family: "\x1b", Type: "\x1b", Results: check.Results})
	}
	report := connectivity.Of("\x1b[2J", []connectivityv1alpha1.NodeConnectivity{one}, now)
	g.Expect(len(report.Edges)).To(BeNumerically("<=", 80))
	for _, width := range []int{0, 100} {
		text := report.Text(width)
		g.Expect(len(text)).To(BeNumerically("<", 64<<10))
		g.Expect(text).NotTo(ContainSubstring("\x1b"))
		g.Expect(text).NotTo(ContainSubstring("\u202e"))
	}
	page, err := report.HTML()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(page)).NotTo(ContainSubstring("\x1b"))

	many := make([]connectivityv1alpha1.NodeConnectivity, connectivity.MaxNodes+1)
	report = connectivity.Of("mine", many, now)
	g.Expect(report.Nodes).To(HaveLen(connectivity.MaxNodes))
	g.Expect(report.Text(0)).To(ContainSubstring("there are more nodes than the 5000 that are shown"))
}
