// SPDX-License-Identifier: Apache-2.0

package fairness

import (
	"context"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/test/sandbox"
)

const (
	shoots = 50
	// rounds is how often all networks change, without and with faults. A network is
	// complete in each second of all, so both sorts see either change.
	rounds = 4
	// patience bounds a round.
	patience = 3 * time.Minute
)

// faults are those of the last shoots, which are not measured.
var faults = []fault{blackHole, tooMany, slow, expired}

// landscape has a shoot with all that Kubernetes runs, and small has the seed only.
var (
	landscape = sandbox.Share(sandbox.Options{Shoots: []string{"garden-dev/all"}})
	small     = sandbox.Share(sandbox.Options{})
)

// runner is what runs before a landscape is torn down.
type runner func() int

// Run implements what Shared.Main asks for.
func (r runner) Run() int { return r() }

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(landscape.Main(runner(func() int { return small.Main(m) })))
}

// BenchmarkFairness changes the networks of fifty shoots, and measures how long it takes
// each of them to be as wanted, and its health to be told: while all answer, and while
// four of them do not, each in another way.
func BenchmarkFairness(b *testing.B) {
	box := landscape.Get(b)
	settings, err := configv1alpha1.Load(nil)
	if err != nil {
		b.Fatal(err)
	}
	l := newFleet(b, shoots, box.Seed.Kubeconfig, box.Shoots[0].Kubeconfig)
	l.run(b, box.Seed.Kubeconfig, settings, func(*shootclient.Options) {})
	l.change(b, nil) // the first contact is not measured
	var calm, faulty times
	for i := range rounds {
		// In turns, so that the network's health changes either way in both.
		if i%2 == 0 {
			calm.add(l.change(b, nil))
			faulty.add(l.change(b, faults))
		} else {
			faulty.add(l.change(b, faults))
			calm.add(l.change(b, nil))
		}
	}
	report(b, "network", calm.done, faulty.done)
	report(b, "health", calm.judged, faulty.judged)
	b.ReportMetric(0, "ns/op")
}

// report prints the 95th percentiles side by side.
func report(b *testing.B, of string, calm, faulty []time.Duration) {
	high := func(all []time.Duration) time.Duration {
		slices.Sort(all)
		return all[len(all)*95/100]
	}
	without, with := high(calm), high(faulty)
	b.ReportMetric(without.Seconds()*1000, "ms-95th-"+of+"-without-faults")
	b.ReportMetric(with.Seconds()*1000, "ms-95th-"+of+"-with-faults")
	b.ReportMetric(with.Seconds()/without.Seconds(), "times-95th-"+of)
}

// times are how long shoots took to have their network, and to have its health told.
type times struct{ done, judged []time.Duration }

func (t *times) add(other times) {
	t.done, t.judged = append(t.done, other.done...), append(t.judged, other.judged...)
}

// change gives all shoots another network, with the last of them faulty, and returns
// how long each of the others took.
func (l *fleet) change(b *testing.B, with []fault) times {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	l.round++
	healthy := len(l.gates) - len(faults)
	for i, gate := range l.gates[healthy:] {
		if with == nil {
			gate.become(none)
		} else {
			gate.become(with[i])
		}
	}
	began := make([]time.Time, len(l.gates))
	var all sync.WaitGroup
	defer all.Wait()
	for i := range l.gates {
		began[i] = time.Now()
		all.Go(func() {
			if err := l.ask(ctx, i); err != nil {
				b.Error(err)
			}
		})
	}
	done, judged := map[int]time.Duration{}, map[int]time.Duration{}
	for len(done) < healthy || len(judged) < healthy {
		select {
		case <-ctx.Done():
			b.Fatalf("after %v %d of %d shoots have their network, and the health of %d is told", patience, len(done), healthy, len(judged))
		case one := <-l.news:
			if one.round != l.round || one.shoot >= healthy {
				continue
			}
			if one.done {
				note(done, one, began)
			}
			if one.healthy == complete(l.round) { // it was not in the round before
				note(judged, one, began)
			}
		}
	}
	taken := times{}
	for i := range healthy {
		taken.done, taken.judged = append(taken.done, done[i]), append(taken.judged, judged[i])
	}
	return taken
}

// note notes when something was so for the first time.
func note(took map[int]time.Duration, one news, began []time.Time) {
	if _, known := took[one.shoot]; !known {
		took[one.shoot] = one.at.Sub(began[one.shoot])
	}
}
