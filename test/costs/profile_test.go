// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

var profiles = flag.String("costs.profiles", "", "an existing folder, into which the operator's profiles are written; what is measured is then printed by its causes as well")

// cause is what takes memory or time: what functions take by themselves whose names match own, and what has been
// called by those that match.
type cause struct{ name, own, by string }

// causes are in the order in which they are tried: the first one counts.
var causes = []cause{
	{"garbage collection", "", `^runtime\.(gcBgMarkWorker|bgsweep|gcAssistAlloc)`},
	{"buffers in which client-go decodes the events of watches", `^encoding/json\.\(\*Decoder\)\.refill|/serializer/streaming\.`, ""},
	{"objects in caches, and decoding them", "", `/watch\.\(\*StreamWatcher\)\.receive|/shootclient\.\(\*objects\)|/cache\.\(\*(threadSafeMap|cache|controller|RealFIFO)`},
	{"watches: their requests, streams and loops", "", `rest\.\(\*Request\)\.Watch|/cache\.\(\*Reflector\)|/shootclient\.\(\*Shoot\)\.(reflect|watch|newObjects)|http2\.\(\*clientStream\)`},
	{"connections: TLS, HTTP/2", "", `^crypto/|/net/http2\.|^net/http\.\(\*(Transport|persistConn)`},
	{"requests", "", `client-go/rest\.|/rest/watch`},
	{"patches of statuses", "", `mergeFromPatch|statusWriter`},
	{"objects of networks: rendering, bundles", "", `/pipeline\.|/plugin\.|/internal/bundle\.|bundleBuilder|bundleWriter`},
	{"what controllers remember and do", "", `/trellis/internal/controller/|controller-runtime/pkg/internal/controller`},
	{"access to shoots: clients, discovery", "", `/shootclient\.|/discovery`},
	{"the process itself: types, flags, metrics, logging", "", `^runtime\.(main|doInit)|prometheus|/zap|^net/http\.\(\*conn\)`},
	{"the scheduler of goroutines", "", `^runtime\.(mcall|schedule|findRunnable|mstart|systemstack|park_m)`},
}

// collected has the operator collect its garbage, and returns its metrics.
func (o *operator) collected(tb testing.TB) counters {
	tb.Helper()
	_, err := o.get("/debug/pprof/heap?gc=1")
	NewWithT(tb).Expect(err).NotTo(HaveOccurred())
	counted, err := o.counters()
	NewWithT(tb).Expect(err).NotTo(HaveOccurred())
	return counted
}

// liveHeap is the metric of the memory of objects that are in use, once garbage is collected.
const liveHeap = "go_memstats_heap_alloc_bytes"

// profile reads a profile of the operator, writes it as a file, and prints it by its causes. It does nothing
// unless profiles are wanted.
func (o *operator) profile(tb testing.TB, name, query string) {
	tb.Helper()
	if *profiles == "" {
		return
	}
	g, file := NewWithT(tb), filepath.Join(*profiles, name)
	raw, err := o.get("/debug/pprof/" + query)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(file, raw, 0o600)).To(Succeed())
	traces, err := exec.CommandContext(tb.Context(), "go", "tool", "pprof", "-traces", file).Output()
	g.Expect(err).NotTo(HaveOccurred())
	printCauses(name, string(traces))
}

// printCauses prints what stacks take, as pprof has written them: labels, a figure before the innermost function
// of each stack, the functions that have called it, and a line of dashes.
func printCauses(name, traces string) {
	sums, all := map[string]float64{}, 0.0
	for stack := range strings.SplitSeq(traces, "-----------+") {
		lines := strings.Split(stack, "\n")
		begin := slices.IndexFunc(lines, func(line string) bool { return figure.MatchString(line) })
		if begin < 0 {
			continue
		}
		found := figure.FindStringSubmatch(lines[begin])
		value, _ := strconv.ParseFloat(found[1], 64)
		value *= units[found[2]]
		lines[begin] = found[3]
		sums[causeOf(lines[begin:])] += value
		all += value
	}
	t := newTable("What takes "+name, "cause", "share")
	for _, each := range slices.SortedFunc(maps.Keys(sums), func(a, b string) int { return cmp.Compare(sums[b], sums[a]) }) {
		if sums[each] > 0 {
			t.row(each, fmt.Sprintf("%.1f %%", 100*sums[each]/all))
		}
	}
	_ = t.Flush()
}

// causeOf returns the name of the cause of a stack, the innermost function first.
func causeOf(stack []string) string {
	matches := func(pattern string, functions []string) bool {
		return pattern != "" && slices.ContainsFunc(functions, func(function string) bool {
			return regexp.MustCompile(pattern).MatchString(strings.TrimSpace(function))
		})
	}
	for _, each := range causes {
		if matches(each.own, stack[:1]) || matches(each.by, stack) {
			return each.name
		}
	}
	return "other"
}

// figure is what pprof writes before the innermost function, in one of its units.
var figure = regexp.MustCompile(`^\s+([0-9.]+)([a-zA-Zµ]*)\s+(\S+\.\S+.*)$`)

// units are those of memory, in bytes, and of time, in seconds.
var units = map[string]float64{"": 0, "B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "us": 1e-6, "ms": 1e-3, "s": 1}

func TestAStackHasTheFirstCauseThatFits(t *testing.T) {
	g := NewWithT(t)
	g.Expect(causeOf([]string{"encoding/json.(*Decoder).refill", "k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive"})).To(ContainSubstring("buffers"))
	g.Expect(causeOf([]string{"reflect.unsafe_New", "k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive"})).To(ContainSubstring("objects in caches"))
	g.Expect(causeOf([]string{"main.main"})).To(Equal("other"))
}
