// SPDX-License-Identifier: Apache-2.0

package fairness

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"regexp"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/operator"
	"github.com/trellis-network/trellis/plugin"
)

var allWays = flag.Bool("fairness.all", false, "try every way of being hostile, among fifty shoots, and check the times; let two hundred clusters come and go (minutes)")

var onlyWay = flag.String("fairness.way", "", "try only the ways of being hostile whose names match this regular expression")

// What one hostile shoot may cost.
const (
	mostTimes  = 1.2 // the others' 95th percentile, compared to the one without it
	mostMemory = 64  // MiB more, in use, and that the heap may have before it is collected
	mostLines  = 10  // of the log in a minute
	// attempts is how often a way is measured until the time is as it should be: the machine
	// does other things as well. All measurements count.
	attempts = 3
)

// cost is what a hostile shoot was seen to cost. The times are those of the others.
type cost struct {
	calm, hostile times
	heap, limit   float64 // MiB more
	lines         int
}

func (c *cost) ratio() float64 {
	return high(c.hostile.done).Seconds() / high(c.calm.done).Seconds()
}

// A shoot whose API server is hostile neither slows the others down nor fills the memory or
// the log. Without -fairness.all the test has fewer ways and shoots, and does not check the
// times.
func TestAHostileShootHarmsNoOther(t *testing.T) {
	tried, size, period := ways[:2], 6, 15*time.Second
	if *allWays {
		tried, size, period = ways, shoots, time.Minute
	}
	only := regexp.MustCompile(*onlyWay)
	tried = slices.DeleteFunc(slices.Clone(tried), func(w way) bool { return !only.MatchString(w.name) })
	box := landscape.Get(t)
	l := newFleet(t, size, box.Seed.Kubeconfig, box.Shoots[0].Kubeconfig)
	l.operate(t, configv1alpha1.ModeStandalone, clock.RealClock{})
	l.change(t, size) // the first connections are not measured
	costs := make([]cost, len(tried))
	calm := l.measure(t, nil)
	for i := range tried {
		c := &costs[i]
		c.calm.add(calm.times)
		for attempt := 0; attempt == 0 || *allWays && attempt < attempts && c.ratio() > mostTimes; attempt++ {
			one, two := l.measure(t, &tried[i]), l.measure(t, &tried[i])
			c.heap, c.limit = max(c.heap, two.heap-calm.heap), max(c.limit, max(one.limit, two.limit)-calm.limit)
			c.hostile.add(one.times)
			c.hostile.add(two.times)
			calm = l.measure(t, nil)
			c.calm.add(calm.times)
		}
	}
	var all []*way
	for i := range tried {
		all = append(all, &tried[i])
	}
	for i, lines := range l.linesOf(t, all, period) {
		costs[i].lines = lines
	}
	t.Log(table(tried, costs))
	for i := range costs {
		if *allWays {
			l.Expect(costs[i].ratio()).To(BeNumerically("<=", mostTimes), "%s: times of the others", tried[i].name)
		}
		l.Expect(costs[i].heap).To(BeNumerically("<=", mostMemory), "%s: MiB in use", tried[i].name)
		l.Expect(costs[i].limit).To(BeNumerically("<=", mostMemory), "%s: MiB that the heap may have", tried[i].name)
		l.Expect(costs[i].lines).To(BeNumerically("<=", mostLines), "%s: log lines:\n%s", tried[i].name, written.about(size-len(tried)+i))
	}
}

// table has a line for each way.
func table(tried []way, costs []cost) string {
	text := &strings.Builder{}
	w := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(w, "\nhostile shoot\t95th without, ms\twith, ms\ttimes\theap, MiB more\tup to, MiB more\tlog lines a minute\n")
	for i := range costs {
		c := &costs[i]
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%.2f\t%+.0f\t%+.0f\t%d\n", tried[i].name,
			high(c.calm.done).Milliseconds(), high(c.hostile.done).Milliseconds(), c.ratio(), c.heap, c.limit, c.lines)
	}
	_ = w.Flush()
	return text.String()
}

// operate runs an operator in a mode, with its default settings, and sends the news of all
// Networks. The operator runs until stop is called, or the test ends.
func (l *fleet) operate(tb testing.TB, mode configv1alpha1.Mode, now clock.WithTicker) (stop func()) {
	tb.Helper()
	settings, err := configv1alpha1.Load(fmt.Appendf(nil, `{mode: %s, metrics: {bindAddress: "0"}, healthProbes: {bindAddress: "0"},
leaderElection: {leaderElect: false}, heartbeat: {namespace: default}, shootClientConnection: {allowedAddresses: [127.0.0.0/8]},
connectivityProbe: {disabled: true}}`, mode)) // the shoots are one cluster, which has one probe
	l.Expect(err).NotTo(HaveOccurred())
	changes, err := cache.New(l.seed.Config, cache.Options{Scheme: l.seed.Scheme()})
	l.Expect(err).NotTo(HaveOccurred())
	informer, err := changes.GetInformer(l.ctx, &extensionsv1alpha1.Network{}, cache.BlockUntilSynced(false))
	l.Expect(err).NotTo(HaveOccurred())
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(_, after any) { l.send(after) }})
	l.Expect(err).NotTo(HaveOccurred())
	log.SetOutput(&written)
	ctx, cancel := context.WithCancel(context.Background())
	ended, news := make(chan error, 1), make(chan error, 1)
	go func() { news <- changes.Start(ctx) }()
	go func() {
		ended <- operator.Run(ctx, operator.Options{
			Plugins: []plugin.Plugin{plugin.New(examplePlugin{})}, Config: settings, Seed: l.seed.Config, Log: written.logger(), Clock: now,
		})
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		l.Expect(<-ended).To(Succeed())
		l.Expect(<-news).To(Succeed())
		log.SetOutput(os.Stderr)
	})
	tb.Cleanup(stop)
	return stop
}

// turn makes the API server of a shoot hostile, or no longer with nil, and changes the Secret
// with its kubeconfig, as its owner may: the operator then connects again.
func (l *fleet) turn(i int, to *way) {
	l.gates[i].turn(to)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: name(i), Name: shootclient.SecretName}}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"turned":%q}}}`, time.Now().Format(time.RFC3339Nano))
	l.Expect(l.seed.Patch(l.ctx, secret, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
}

// measured is what one change of all networks took.
type measured struct {
	times
	heap, limit float64 // MiB
}

// measure changes all networks while the last shoot is hostile in a way, or not with nil.
func (l *fleet) measure(tb testing.TB, hostile *way) measured {
	tb.Helper()
	last := len(l.gates) - 1
	if hostile != l.gates[last].hostile.Load() {
		l.turn(last, hostile)
	}
	return l.observe(tb, last)
}

// observe changes all networks, and measures what that takes the first ones, which are healthy.
func (l *fleet) observe(tb testing.TB, healthy int) measured {
	tb.Helper()
	runtime.GC()
	ended, limit := make(chan struct{}), make(chan float64)
	go func() { limit <- highest(ended) }()
	m := measured{times: l.change(tb, healthy)}
	close(ended)
	m.limit, m.heap = <-limit, inUse()
	return m
}

// inUse returns how many MiB are in use after a garbage collection.
func inUse() float64 {
	runtime.GC()
	runtime.GC()
	return objectsNow()
}

// objectsNow returns how many MiB objects take, with those that are not collected yet.
func objectsNow() float64 { return mebibytes("/memory/classes/heap/objects:bytes") }

// goalNow returns to how many MiB the heap may grow before the next garbage collection. What is
// really in use depends on when that was, so that a short measurement says little about it.
func goalNow() float64 { return mebibytes("/gc/heap/goal:bytes") }

func mebibytes(metric string) float64 {
	sample := []metrics.Sample{{Name: metric}}
	metrics.Read(sample)
	return float64(sample[0].Value.Uint64()) / (1 << 20)
}

// highest returns the highest value of goalNow until ended is closed.
func highest(ended <-chan struct{}) (most float64) {
	next := time.NewTicker(5 * time.Millisecond)
	defer next.Stop()
	for {
		most = max(most, goalNow())
		select {
		case <-ended:
			return most
		case <-next.C:
		}
	}
}

// linesOf makes a shoot of its own hostile in each way, changes their networks, and returns how
// many lines about each the operator logs in a minute, its first ones included. A line
// that names no shoot counts for all.
func (l *fleet) linesOf(tb testing.TB, tried []*way, period time.Duration) []int {
	tb.Helper()
	first := len(l.gates) - len(tried)
	before := written.counts(len(l.gates))
	for i := range tried {
		l.turn(first+i, tried[i])
	}
	over := time.After(period)
	l.change(tb, first)
	<-over
	var lines []int
	for i, count := range written.counts(len(l.gates))[first:] {
		lines = append(lines, count-before[first+i])
	}
	return lines
}
