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

// add adds what something else has taken.
func (u *usage) add(other usage) {
	u.wall, u.operator, u.apiServer, u.etcd = u.wall+other.wall, u.operator+other.operator, u.apiServer+other.apiServer, u.etcd+other.etcd
}

// measure returns what f takes of the machine. The operator may be 0, no process.
func (m machine) measure(f func()) usage {
	began, before := time.Now(), usage{0, m.operator.cpu(), m.apiServers.cpu(), m.etcd.cpu()}
	f()
	return usage{
		time.Since(began), m.operator.cpu() - before.operator, m.apiServers.cpu() - before.apiServer, m.etcd.cpu() - before.etcd,
	}
}

// usages are those of the same thing, measured several times.
type usages []usage

// median returns the median of each figure; zero if nothing was measured.
func (u usages) median() usage {
	of := func(figure func(usage) time.Duration) time.Duration {
		var all []time.Duration
		for _, each := range u {
			all = append(all, figure(each))
		}
		slices.Sort(all)
		if len(all) == 0 {
			return 0
		}
		return all[len(all)/2]
	}
	return usage{
		of(func(u usage) time.Duration { return u.wall }), of(func(u usage) time.Duration { return u.operator }),
		of(func(u usage) time.Duration { return u.apiServer }), of(func(u usage) time.Duration { return u.etcd }),
	}
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

// ms returns a duration divided by a number of objects, in milliseconds.
func ms(d time.Duration, by int) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000/float64(by))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// times returns how many times another duration one is, and nothing if that has no sense.
func times[N time.Duration | float64](one, other N) string {
	if other <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(one)/float64(other))
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
	if got := times(3*time.Second, 2*time.Second) + times(1.0, 0); got != "1.50-" {
		t.Error(got)
	}
}

func TestTheMedianIsThatOfEachFigure(t *testing.T) {
	all := usages{{1, 9, 3, 4}, {7, 2, 5, 5}, {3, 6, 4, 9}}
	if got := all.median(); got != (usage{3, 6, 4, 5}) || (usages{}).median() != (usage{}) {
		t.Error(got)
	}
}
