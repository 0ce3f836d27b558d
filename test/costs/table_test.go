// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// machine is what is measured beside the operator.
type machine struct {
	operator   process
	apiServers processes
	etcd       process
}

// usage is what something has taken.
type usage struct{ wall, operator, apiServer, etcd time.Duration }

// plus adds what something else has taken.
func (u usage) plus(other usage) usage {
	return usage{u.wall + other.wall, u.operator + other.operator, u.apiServer + other.apiServer, u.etcd + other.etcd}
}

// half is a half of it.
func (u usage) half() usage { return usage{u.wall / 2, u.operator / 2, u.apiServer / 2, u.etcd / 2} }

// measure returns what f takes of the machine. The operator may be 0, no process.
func (m machine) measure(f func()) usage {
	began, before := time.Now(), usage{0, m.operator.cpu(), m.apiServers.cpu(), m.etcd.cpu()}
	f()
	return usage{
		time.Since(began), m.operator.cpu() - before.operator, m.apiServers.cpu() - before.apiServer, m.etcd.cpu() - before.etcd,
	}
}

// wall, operatorCPU, apiServerCPU and etcdCPU return the figures of a usage.
func wall(u usage) time.Duration         { return u.wall }
func operatorCPU(u usage) time.Duration  { return u.operator }
func apiServerCPU(u usage) time.Duration { return u.apiServer }
func etcdCPU(u usage) time.Duration      { return u.etcd }

// round is what something has taken, and the same by the raw client at about the same time. The latter is zero where there
// is nothing to compare with.
type round struct{ operator, raw usage }

// rounds are those of the same thing.
type rounds []round

// median returns the median of a figure of the operator, divided by a number of objects; zero if nothing was measured.
func (r rounds) median(figure func(usage) time.Duration, by int) time.Duration {
	return median(r, func(each round) time.Duration { return figure(each.operator) }) / time.Duration(by)
}

// times returns how many times as much as by the raw client a figure is: the median of the rounds, since a machine with
// others on it is not as fast in one as in another.
func (r rounds) times(figure func(usage) time.Duration) string {
	ratio := median(r, func(each round) float64 {
		if figure(each.raw) <= 0 {
			return 0
		}
		return float64(figure(each.operator)) / float64(figure(each.raw))
	})
	if ratio == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", ratio)
}

// median returns the median of a figure of rounds, zero if there are none.
func median[N time.Duration | float64](of rounds, figure func(round) N) N {
	if len(of) == 0 {
		return 0
	}
	var all []N
	for _, each := range of {
		all = append(all, figure(each))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// table prints rows with columns of the same width.
type table struct{ *tabwriter.Writer }

func newTable(title string, columns ...string) table {
	fmt.Println("\n" + title)
	t := table{tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)}
	t.row(columns...)
	return t
}

func (t table) row(cells ...string) { fmt.Fprintln(t, strings.Join(cells, "\t")) }

// ms returns a duration in milliseconds.
func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// times returns how many times another number one is, and nothing if that has no sense.
func times(one, other float64) string {
	if other <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", one/other)
}

// per returns the numbers of requests divided by one of objects.
func (c counters) per(by int) string {
	var parts []string
	for _, method := range []string{"GET", "POST", "PATCH", "PUT", "DELETE"} {
		if c[method] > 0 {
			parts = append(parts, fmt.Sprintf("%s %.2f", method, c[method]/float64(by)))
		}
	}
	return fmt.Sprintf("%.2f (%s)", c.all()/float64(by), strings.Join(parts, ", "))
}

func TestARatioNeedsSomethingToCompareWith(t *testing.T) {
	if got := times(3.0, 2.0) + times(1.0, 0) + (rounds{{operator: usage{wall: 1}}}).times(wall) + (rounds{}).times(wall); got != "1.50---" {
		t.Error(got)
	}
}

func TestTheMedianIsThatOfEachFigureAndOfTheRoundsRatios(t *testing.T) {
	all := rounds{{usage{8, 9, 3, 4}, usage{4, 0, 1, 1}}, {usage{1, 2, 5, 5}, usage{1, 0, 1, 1}}, {usage{9, 6, 4, 9}, usage{6, 0, 1, 1}}}
	if got := []time.Duration{all.median(wall, 1), all.median(operatorCPU, 2), all.median(apiServerCPU, 1), all.median(etcdCPU, 1), rounds{}.median(wall, 1)}; !slices.Equal(got, []time.Duration{8, 3, 4, 5, 0}) {
		t.Error(got)
	}
	if got := all.times(wall) + " " + all.times(apiServerCPU); got != "1.50 4.00" {
		t.Error(got)
	}
}
