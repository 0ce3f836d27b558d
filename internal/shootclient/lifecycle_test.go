// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	testclock "k8s.io/utils/clock/testing"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// allSeries counts the time series of all metrics.
func allSeries(g *WithT) int {
	families, err := ctrlmetrics.Registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	count := 0
	for _, family := range families {
		count += len(family.Metric)
	}
	return count
}

// Of shoots that are gone nothing is left in the operator, in whatever way they went: their
// Secret was deleted, as with the control plane or after a migration; they were hibernated,
// which controllers tell; no controller asks for them any more; or they answered with errors
// before that.
func TestTwoHundredShootsComeAndGoAndLeaveNothing(t *testing.T) {
	const each = 50
	g := NewWithT(t)
	clock, seed := testclock.NewFakePassiveClock(time.Now()), &secrets{}
	g.Eventually(watching).WithTimeout(time.Minute).Should(BeZero(), "what other tests have left")
	runtime.GC()
	goroutinesBefore, connectedBefore, seriesBefore := runtime.NumGoroutine(), connected(), -1
	linesBefore := linesAboutWatches()
	options := patient(seed, seed)
	options.Clock = clock
	clients := New(options)
	defer clients.Close()
	clients.Declare(Watch{Kind: daemonSets, Typed: true})
	open := func() int {
		clients.mu.Lock()
		defer clients.mu.Unlock()
		return len(clients.slots)
	}
	ask := func(namespace string) {
		t.Helper()
		shoot, err := clients.For(t.Context(), namespace)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(shoot.Watch(t.Context(), configMaps, daemonSets)).To(Succeed())
	}
	servers := map[string]*pretender{}
	groups := map[string][]string{}
	for i := range each {
		for _, group := range []string{"deleted", "hibernated", "unused", "broken"} {
			namespace := fmt.Sprintf("shoot--%s--%d", group, i)
			groups[group] = append(groups[group], namespace)
			servers[namespace] = newPretender(t, &pretender{})
			seed.put(namespace, servers[namespace].kubeconfig())
			ask(namespace)
		}
		if seriesBefore < 0 {
			seriesBefore = allSeries(g) // those of the first few appear once and stay
		}
	}
	g.Expect(open()).To(Equal(4 * each))
	g.Expect(runtime.NumGoroutine()).To(BeNumerically(">", goroutinesBefore+4*each*2), "each shoot is watched")
	clients.sweep(t.Context())
	g.Expect(open()).To(Equal(4*each), "all are in use")

	for _, namespace := range groups["deleted"] {
		seed.delete(namespace)
	}
	clients.sweep(t.Context())
	g.Expect(open()).To(Equal(3 * each))

	for _, namespace := range groups["hibernated"] {
		clients.Forget(namespace)
	}
	g.Expect(open()).To(Equal(2 * each))

	clock.SetTime(clock.Now().Add(9 * time.Minute))
	for _, namespace := range groups["broken"] {
		ask(namespace)
	}
	clients.sweep(t.Context())
	g.Expect(open()).To(Equal(2 * each))
	clock.SetTime(clock.Now().Add(time.Minute))
	clients.sweep(t.Context())
	g.Expect(open()).To(Equal(each), "no controller asked for the others in ten minutes")
	for _, namespace := range groups["unused"] {
		g.Expect(clients.slots).NotTo(HaveKey(namespace))
	}

	for _, namespace := range groups["broken"] {
		servers[namespace].broken.Store(true)
		servers[namespace].CloseClientConnections()
	}
	g.Eventually(linesAboutWatches).WithTimeout(time.Minute).Should(Equal(linesBefore+each), "one line a shoot")
	for _, namespace := range groups["broken"] {
		seed.delete(namespace)
	}
	clients.sweep(t.Context())
	g.Expect(open()).To(BeZero())

	g.Expect(series(g, "trellis_shoots")).To(BeEmpty())
	for _, server := range servers {
		server.end()
	}
	g.Eventually(watching).WithTimeout(time.Minute).Should(BeZero())
	g.Eventually(connected).WithTimeout(time.Minute).Should(BeNumerically("<=", connectedBefore))
	g.Eventually(runtime.NumGoroutine).WithTimeout(time.Minute).Should(BeNumerically("<=", goroutinesBefore+5))
	g.Expect(linesAboutWatches()).To(Equal(linesBefore + each))
	g.Expect(allSeries(g)).To(BeNumerically("<=", seriesBefore))
	t.Logf("%d shoots: goroutines %d before, %d after; time series %d with the first four shoots, %d after all; %d lines",
		4*each, goroutinesBefore, runtime.NumGoroutine(), seriesBefore, allSeries(g), linesAboutWatches()-linesBefore)
}

// A controller that asks once more for a shoot that is about to go opens it for a moment only.
func TestAShootThatIsOpenedAfterItsEndIsClosed(t *testing.T) {
	g, seed := NewWithT(t), &secrets{}
	clients := New(patient(seed, seed))
	defer clients.Close()
	seed.put("shoot--dev--one", newPretender(t, &pretender{}).kubeconfig())
	clients.Forget("shoot--dev--one") // its last ManagedResource is gone
	shoot, err := clients.For(t.Context(), "shoot--dev--one")
	g.Expect(err).NotTo(HaveOccurred())
	seed.delete("shoot--dev--one")
	clients.sweep(t.Context())
	g.Expect(shoot.open.Done()).To(BeClosed())
	g.Expect(clients.slots).To(BeEmpty())
}
