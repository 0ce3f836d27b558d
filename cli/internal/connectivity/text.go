// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/cli/internal/table"
	"github.com/trellis-network/trellis/cli/internal/text"
)

const (
	// maxMatrix is how many nodes a matrix has at most, on the terminal.
	maxMatrix = 16
	// maxWorst is how many nodes, and how many targets, are named.
	maxWorst = 10
	// barWidth is how many characters the longest bar of a histogram has.
	barWidth = 40
)

// Text returns the report for a terminal with lines of a width; 0 means that they may have any
// length. It has a matrix for each family if there are few nodes, and else the worst nodes and
// targets, and histograms of the latency between pods.
func (r *Report) Text(width int) string {
	var out strings.Builder
	section := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		if title != "" {
			fmt.Fprintln(&out, "\n"+strings.Join(text.Wrap(title, width), "\n"))
		}
		for _, line := range lines {
			fmt.Fprintln(&out, line)
		}
	}
	section("", text.Wrap(r.headline(), width))
	section("Latencies are in milliseconds.", r.overview(width))
	matrices, fit := r.matrices(width)
	if fit {
		for i, family := range families {
			section(string(family)+": from each node (row) to the pods of the others (columns), and to its other targets", matrices[i])
		}
		section("Marks:", text.Wrap(r.legend(), width))
	} else {
		section("Nodes of which targets fail, or without a recent report:", r.worstNodes(width))
	}
	section("Failing targets, longest first:", r.worstTargets(width))
	if !fit {
		for _, g := range r.groups() {
			if g.Test == connectivityv1alpha1.CheckPods {
				section(fmt.Sprintf("Latency to pods, %s:", g.Family), histogram(g, width))
			}
		}
	} else {
		section("Nodes without a recent report:", r.stale(width))
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// headline returns the report in a line.
func (r *Report) headline() string {
	stale, failing := 0, 0
	for i := range r.Nodes {
		stale += flag(r.Nodes[i].Stale)
	}
	for i := range r.Edges {
		failing += flag(r.Edges[i].Failing)
	}
	line := fmt.Sprintf("%s: %s, of which %d without a recent report; %s, of which %d failing",
		r.Shoot, counted(len(r.Nodes), "node"), stale, counted(len(r.Edges), "target"), failing)
	if r.More {
		line += fmt.Sprintf("; there are more nodes than the %d that are shown", MaxNodes)
	}
	return text.OneLine(line)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (r *Report) overview(width int) []string {
	rows := [][]string{{"family", "test", "targets", "failing", "median", "95 %", "slowest"}}
	for _, g := range r.groups() {
		rows = append(rows, []string{string(g.Family), string(g.Test), strconv.Itoa(g.Targets), strconv.Itoa(g.Failing), g.Latency(50), g.Latency(95), g.Latency(100)})
	}
	if len(rows) == 1 {
		return nil
	}
	return table.Lines(rows, width, 2, 3, 4, 5, 6)
}

// Marks in a matrix.
const (
	failing  = "FAIL"
	untested = "·"
	itself   = "–"
	lossy    = "*"
	smaller  = "m"
)

func (r *Report) legend() string {
	return fmt.Sprintf("%s failing, %s not tested, %s some attempts failed, %s packets of full size do not arrive", failing, untested, lossy, smaller)
}

// matrices returns a matrix for each family, as far as there are results, and whether they fit.
func (r *Report) matrices(width int) (all [][]string, fit bool) {
	if len(r.Nodes) > maxMatrix || len(r.Nodes) == 0 {
		return nil, false
	}
	for _, family := range families {
		rows := r.matrix(family)
		if width > 0 && table.Width(rows) > width {
			return nil, false
		}
		var right []int
		for i := 1; len(rows) > 0 && i < len(rows[0]); i++ {
			right = append(right, i)
		}
		all = append(all, table.Lines(rows, width, right...))
	}
	return all, true
}

// matrix returns the rows of a family's matrix, and none if nothing was tested in it.
func (r *Report) matrix(family connectivityv1alpha1.IPFamily) (rows [][]string) {
	cells := map[[2]string]string{} // from a node to another, or to a type of test
	used := map[connectivityv1alpha1.CheckType]bool{}
	numbers := map[[2]string][2]int{}
	for i := range r.Edges {
		switch e := &r.Edges[i]; {
		case e.Family != family:
		case e.Test == connectivityv1alpha1.CheckPods:
			used[e.Test] = true
			cells[[2]string{e.From, e.To}] = e.cell()
		default:
			used[e.Test] = true
			key := [2]string{e.From, string(e.Test)}
			n := numbers[key]
			numbers[key] = [2]int{n[0] + 1 - flag(e.Failing), n[1] + 1}
		}
	}
	if len(used) == 0 {
		return nil
	}
	head := []string{"from"}
	for i := range r.Nodes {
		head = append(head, r.Nodes[i].Name)
	}
	for _, test := range tests[1:] {
		if used[test] {
			head = append(head, string(test))
		}
	}
	rows = append(rows, head)
	for i := range r.Nodes {
		from := r.Nodes[i].Name
		row := []string{from}
		for j := range r.Nodes {
			cell := cmp.Or(cells[[2]string{from, r.Nodes[j].Name}], untested)
			if i == j {
				cell = itself
			}
			row = append(row, cell)
		}
		for _, test := range tests[1:] {
			if n, has := numbers[[2]string{from, string(test)}]; has && n[0] < n[1] {
				row = append(row, fmt.Sprintf("%d/%d %s", n[0], n[1], failing))
			} else if has {
				row = append(row, fmt.Sprintf("%d/%d", n[0], n[1]))
			} else if used[test] {
				row = append(row, untested)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// cell is a target in a matrix.
func (e *Edge) cell() string {
	if e.Failing {
		return failing
	}
	cell := milliseconds(e.LatencyMicroseconds)
	if e.Failures > 0 {
		cell += lossy
	}
	if e.FullSizePackets != nil && !*e.FullSizePackets {
		cell += smaller
	}
	return cell
}

func (r *Report) worstNodes(width int) []string {
	rows := [][]string{{"node", "last report", "failing from it", "failing to it"}}
	more := 0
	for _, s := range r.scores() {
		switch {
		case !s.isNoticeable():
		case len(rows) > maxWorst:
			more++
		default:
			rows = append(rows, []string{s.Name, r.reported(&s.Node), fmt.Sprintf("%d of %d", s.FromFailing, s.From), fmt.Sprintf("%d of %d", s.ToFailing, s.To)})
		}
	}
	return withMore(rows, more, width)
}

func (r *Report) worstTargets(width int) []string {
	rows := [][]string{{"from", "to", "test", "family", "for", "error"}}
	more := 0
	for _, e := range r.worst() {
		switch {
		case !e.Failing:
		case len(rows) > maxWorst:
			more++
		default:
			rows = append(rows, []string{e.From, e.To, string(e.Test), string(e.Family), r.failingFor(e), cmp.Or(e.Error, "no reason given")})
		}
	}
	return withMore(rows, more, width)
}

func (r *Report) stale(width int) []string {
	rows := [][]string{{"node", "last report"}}
	for i := range r.Nodes {
		if n := &r.Nodes[i]; n.Stale {
			rows = append(rows, []string{n.Name, r.reported(n)})
		}
	}
	return withMore(rows, 0, width)
}

func withMore(rows [][]string, more, width int) []string {
	if len(rows) == 1 {
		return nil
	}
	lines := table.Lines(rows, width)
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}

// reported returns how long ago the last report was.
func (r *Report) reported(n *Node) string {
	if n.Reported == nil {
		return "never"
	}
	return r.age(n.Reported.Time) + " ago"
}

// failingFor returns for how long a failing target fails.
func (r *Report) failingFor(e *Edge) string {
	if e.FailingSince == nil {
		return "unknown"
	}
	return r.age(e.FailingSince.Time)
}

func (r *Report) age(of time.Time) string { return duration.HumanDuration(max(r.Time.Sub(of), 0)) }

func histogram(g *group, width int) []string {
	most := 0
	buckets := g.Histogram()
	for _, b := range buckets {
		most = max(most, b.Count)
	}
	var rows [][]string
	for _, b := range buckets {
		rows = append(rows, []string{b.Label, strconv.Itoa(b.Count), strings.Repeat("#", (b.Count*barWidth+most-1)/most)})
	}
	return table.Lines(rows, width, 0, 1)
}

// milliseconds returns microseconds with two significant digits after the point where they matter.
func milliseconds(microseconds int32) string {
	ms := float64(microseconds) / 1000
	switch {
	case ms >= 100:
		return strconv.FormatFloat(ms, 'f', 0, 64)
	case ms >= 10:
		return strconv.FormatFloat(ms, 'f', 1, 64)
	}
	return strconv.FormatFloat(ms, 'f', 2, 64)
}
