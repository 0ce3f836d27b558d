// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/internal/probe/apiserver"
)

// world is an API server and a network of which tests decide what works.
type world struct {
	mutex     sync.Mutex
	endpoints []apiserver.Endpoint
	clusterIP string
	broken    map[string]bool // by the address of a target
	down      bool            // the API server
	refused   bool            // the token
	lists     int
	attempts  int
	reports   []v1alpha1.Report
}

func (w *world) Endpoints(context.Context, string, string) ([]apiserver.Endpoint, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.lists++
	if w.down {
		return nil, errors.New("down")
	}
	return w.endpoints, nil
}

func (w *world) ServiceIPs(context.Context, string, string) ([]netip.Addr, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return addresses(w.clusterIP), nil
}

func (w *world) Report(_ context.Context, _ string, report v1alpha1.Report) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.down {
		return &apiserver.StatusError{Code: 503}
	}
	if w.refused {
		return &apiserver.StatusError{Code: 401}
	}
	w.reports = append(w.reports, report)
	return nil
}

func (w *world) attempt(_ context.Context, target Target, _ bool) Outcome {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.attempts++
	outcome := Outcome{Started: time.Now(), Ended: time.Now(), Latency: time.Millisecond}
	if target.Type == v1alpha1.CheckPods {
		outcome.NodeAddresses = []string{"192.168.0.2"}
	}
	if w.broken[target.Address] {
		outcome.Failure = "no connection within 3s"
	}
	return outcome
}

// change changes the world, and starts to count again.
func (w *world) change(change func()) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	change()
	w.reports, w.lists, w.attempts = nil, 0, 0
}

func (w *world) last() v1alpha1.Report { return w.reports[len(w.reports)-1] }

// inBubble runs a probe with a fake clock.
func inBubble(t *testing.T, nodes int, test func(g *WithT, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{clusterIP: "10.2.0.9", broken: map[string]bool{}}
		for i := range nodes {
			w.endpoints = append(w.endpoints, endpoint(fmt.Sprintf("node-%d", i), fmt.Sprintf("10.1.%d.%d", i/250, 1+i%250)))
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			(&Probe{
				Settings: settings("10.1.255.1"), API: w, Attempt: w.attempt,
				PodInterface: func() *v1alpha1.PodInterface { return nil },
				Chance:       func() float64 { return 0.5 }, Log: slog.New(slog.DiscardHandler),
			}).Run(ctx)
		}()
		pass(45 * time.Second)
		test(NewWithT(t), w)
		cancel()
		<-done
	})
}

// pass lets time of the fake clock pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestThereIsAReportAfterTenSeconds(t *testing.T) {
	inBubble(t, 3, func(g *WithT, w *world) {
		g.Expect(w.reports).To(HaveLen(1))
		g.Expect(w.last().Peers).To(BeEquivalentTo(3))
		g.Expect(w.last().Targets).To(BeEquivalentTo(3+4+1), "pods, nodes with the own one, the Service")
		g.Expect(w.last().Failing).To(BeZero())
	})
}

func TestWithoutNewsThereIsAReportAMinute(t *testing.T) {
	inBubble(t, 1000, func(g *WithT, w *world) {
		pass(11 * time.Minute) // the first reads follow each other sooner
		w.change(func() {})
		pass(20 * time.Minute)
		g.Expect(len(w.reports)).To(BeNumerically("~", 20, 2))
		g.Expect(w.lists).To(BeNumerically("<=", 3))
		g.Expect(w.attempts).To(BeNumerically("~", 20*6*(6+7+1), 100))
		g.Expect(w.last().Failing).To(BeZero())
	})
}

func TestAFailingPeerIsReportedWithin45SecondsAndSoIsItsRepair(t *testing.T) {
	inBubble(t, 3, func(g *WithT, w *world) {
		w.change(func() { w.broken["10.1.0.1:8099"] = true })
		pass(45 * time.Second)
		g.Expect(w.last().Failing).To(BeEquivalentTo(1))
		w.change(func() { w.broken["10.1.0.1:8099"] = false })
		pass(25 * time.Second)
		g.Expect(w.last().Failing).To(BeZero())
	})
}

func TestASingleLossIsNoNews(t *testing.T) {
	inBubble(t, 3, func(g *WithT, w *world) {
		pass(time.Minute)
		for range 10 {
			w.change(func() { w.broken["10.1.0.1:8099"] = true })
			pass(10 * time.Second)
			w.change(func() { w.broken["10.1.0.1:8099"] = false })
			pass(50 * time.Second)
			for _, report := range w.reports {
				g.Expect(report.Failing).To(BeZero())
			}
		}
	})
}

func TestANodeThatLeavesIsNotReportedAsFailing(t *testing.T) {
	inBubble(t, 3, func(g *WithT, w *world) {
		pass(2 * time.Minute)
		w.change(func() {
			w.endpoints, w.broken["10.1.0.1:8099"], w.broken["192.168.0.2:10250"] = w.endpoints[1:], true, false
		})
		pass(5 * time.Minute)
		for _, report := range w.reports {
			g.Expect(report.Failing).To(BeZero())
		}
		g.Expect(w.last().Peers).To(BeEquivalentTo(2))
	})
}

func TestANodeThatStartsAgainIsReachedAtItsNewAddress(t *testing.T) {
	inBubble(t, 3, func(g *WithT, w *world) {
		pass(2 * time.Minute)
		w.change(func() { w.broken["10.1.0.1:8099"] = true })
		pass(75 * time.Second)
		g.Expect(w.last().Failing).To(BeEquivalentTo(1))
		g.Expect(w.lists).To(BeNumerically("<=", 6))
		w.change(func() { w.endpoints[0] = endpoint("node-0", "10.1.0.77") })
		pass(35 * time.Second)
		g.Expect(w.reports).NotTo(BeEmpty())
		g.Expect(w.last().Failing).To(BeZero())
		g.Expect(w.last().Peers).To(BeEquivalentTo(3))
	})
}

func TestAServiceThatIsMadeAgainIsReachedAtItsNewAddress(t *testing.T) {
	inBubble(t, 3, func(g *WithT, w *world) {
		pass(2 * time.Minute)
		w.change(func() { w.clusterIP, w.broken["10.2.0.9:80"] = "10.2.0.10", true })
		pass(2 * time.Minute)
		for _, report := range w.reports {
			g.Expect(report.Failing).To(BeZero())
		}
		checks := w.last().Checks
		g.Expect(checks[len(checks)-1].Results).To(ConsistOf(HaveField("Address", "10.2.0.10:80")))
	})
}

// A token that is refused may have been renewed meanwhile: each request reads it again.
func TestARefusedReportIsSentAgainWithinSeconds(t *testing.T) {
	inBubble(t, 3, func(g *WithT, w *world) {
		w.change(func() { w.refused = true })
		pass(time.Minute)
		w.change(func() { w.refused = false })
		pass(maxRetry)
		g.Expect(w.reports).NotTo(BeEmpty())
	})
}

func TestAnAPIServerThatIsAwayIsAskedRarely(t *testing.T) {
	inBubble(t, 3, func(g *WithT, w *world) {
		w.change(func() { w.down = true })
		pass(10 * time.Minute)
		g.Expect(w.lists).To(BeNumerically("<", 60))
		g.Expect(w.reports).To(BeEmpty())
		w.change(func() { w.down = false })
		pass(time.Minute)
		g.Expect(w.reports).NotTo(BeEmpty())
		g.Expect(w.last().Peers).To(BeEquivalentTo(3), "it keeps testing the peers that it knows")
	})
}
