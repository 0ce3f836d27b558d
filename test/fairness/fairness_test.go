// SPDX-License-Identifier: Apache-2.0

package fairness

import (
	"context"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/test/sandbox"
)

const (
	shoots = 50
	// rounds is how often all networks change, both without and with faults. A network is
	// complete in every other round, so networks become complete and incomplete both without
	// and with faults.
	rounds = 4
	// patience limits a round.
	patience = 3 * time.Minute
)

// faults are the faults of the last shoots. The benchmark does not measure these shoots.
var faults = []fault{blackHole, tooMany, slow, expired}

// landscape has a shoot with a whole control plane, and small has the seed only. crowded and
// besieged are like landscape, for clusters that come and go, and for several that are hostile.
var (
	landscape, crowded, besieged = newLandscape(), newLandscape(), newLandscape()

	small = sandbox.Share(sandbox.Options{})
)

func newLandscape() *sandbox.Shared {
	return sandbox.Share(sandbox.Options{Shoots: []string{"garden-dev/all"}})
}

// runner is a function for Shared.Main to run before it stops the sandbox.
type runner func() int

// Run implements the parameter of Shared.Main.
func (r runner) Run() int { return r() }

func TestMain(m *testing.M) {
	ctrl.SetLogger(written.logger())
	run := m.Run
	for _, each := range []*sandbox.Shared{landscape, crowded, besieged, small} {
		inner := run
		run = func() int { return each.Main(runner(inner)) }
	}
	os.Exit(run())
}

// BenchmarkFairness changes the networks of fifty shoots, and measures for each shoot the time
// until its network is applied and until its health is reported. It does so while all shoots
// answer, and while four of them fail, each in another way.
func BenchmarkFairness(b *testing.B) {
	box := landscape.Get(b)
	settings, err := configv1alpha1.Load(nil)
	if err != nil {
		b.Fatal(err)
	}
	l := newFleet(b, shoots, box.Seed.Kubeconfig, box.Shoots[0].Kubeconfig)
	l.run(b, box.Seed.Kubeconfig, settings, func(*shootclient.Options) {})
	change := func(with []fault) times {
		others := len(l.gates) - len(faults)
		for i, gate := range l.gates[others:] {
			if with == nil {
				gate.become(none)
			} else {
				gate.become(with[i])
			}
		}
		return l.change(b, others)
	}
	change(nil) // the first connections are not measured
	var calm, faulty times
	for i := range rounds {
		// Alternate, so that networks become both complete and incomplete in calm and in
		// faulty rounds.
		if i%2 == 0 {
			calm.add(change(nil))
			faulty.add(change(faults))
		} else {
			faulty.add(change(faults))
			calm.add(change(nil))
		}
	}
	report(b, "network", calm.done, faulty.done)
	report(b, "health", calm.reported, faulty.reported)
	b.ReportMetric(0, "ns/op")
}

// report reports the 95th percentiles without and with faults, and their ratio.
func report(b *testing.B, of string, calm, faulty []time.Duration) {
	without, with := high(calm), high(faulty)
	b.ReportMetric(without.Seconds()*1000, "ms-95th-"+of+"-without-faults")
	b.ReportMetric(with.Seconds()*1000, "ms-95th-"+of+"-with-faults")
	b.ReportMetric(with.Seconds()/without.Seconds(), "times-95th-"+of)
}

// high returns the 95th percentile.
func high(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)*95/100]
}

// times are the times until the networks of shoots were applied, and their health reported.
type times struct{ done, reported []time.Duration }

func (t *times) add(other times) {
	t.done, t.reported = append(t.done, other.done...), append(t.reported, other.reported...)
}

// change changes the networks of all shoots. It waits for the first of them, which are
// healthy, and returns their times.
func (l *fleet) change(tb testing.TB, healthy int) times {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	l.round++
	began := make([]time.Time, len(l.gates))
	var all sync.WaitGroup
	defer all.Wait()
	for i := range l.gates {
		began[i] = time.Now()
		all.Go(func() {
			if err := l.update(ctx, i); err != nil {
				tb.Error(err)
			}
		})
	}
	done, reported := map[int]time.Duration{}, map[int]time.Duration{}
	for len(done) < healthy || len(reported) < healthy {
		select {
		case <-ctx.Done():
			tb.Fatalf("after %v, %d of %d shoots have their network, and the health of %d is reported", patience, len(done), healthy, len(reported))
		case one := <-l.news:
			if one.round != l.round || one.shoot >= healthy {
				continue
			}
			if one.done {
				note(done, one, began)
			}
			if one.healthy == complete(l.round) { // it was different in the round before
				note(reported, one, began)
			}
		}
	}
	taken := times{}
	for i := range healthy {
		taken.done, taken.reported = append(taken.done, done[i]), append(taken.reported, reported[i])
	}
	return taken
}

// note records the first time of a shoot, and ignores later ones.
func note(took map[int]time.Duration, one news, began []time.Time) {
	if _, known := took[one.shoot]; !known {
		took[one.shoot] = one.at.Sub(began[one.shoot])
	}
}
