// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httputil"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/sandbox"
)

// servers is the number of API servers that are the shoots of those benchmarks that have many. Each takes
// 300 MiB, so that they run on a machine with 8 GiB.
const servers = 10

// roundsAtOnce is how often it is measured what objects cost in all of them at once: a round takes minutes.
const roundsAtOnce = 3

var (
	forMany = harness.Own(sandbox.Options{Shoots: func() (names []string) {
		for i := range servers {
			names = append(names, fmt.Sprintf("garden-dev/many-%d", i))
		}
		return names
	}()})

	clusterCounts = flag.String("costs.clusters", "1,10,50", "with how many clusters the operator's memory is measured")
)

// manyTenants returns the tenants of each API server of forMany.
func manyTenants(b *testing.B) (all []*tenants) {
	content, _ := calico(b)
	for _, shoot := range forMany.Shoots(b) {
		all = append(all, &tenants{NewWithT(b), b, forMany.Seed(b), shoot, content})
	}
	return all
}

// cluster is the name of the control plane of a cluster.
func cluster(i int) string { return fmt.Sprintf("shoot--costs--many-%04d", i) }

// addIdentity adds a cluster that is one of the API servers, which the operator sees through a front of
// its own, as if all objects had its origin: so it has a client, a cache and watches of its own.
func (t *tenants) addIdentity(i int) {
	mine, theirs := []byte(cluster(i)), []byte(cluster(i%servers))
	t.add(cluster(i), front(t.tb, t.shoot, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Body = &body{renamed{from: r.Body, old: mine, new: theirs}, r.Body.Close}
			next.ServeHTTP(w, r)
		})
	}, func(proxy *httputil.ReverseProxy) {
		proxy.ModifyResponse = func(r *http.Response) error {
			r.Body = &body{renamed{from: r.Body, old: theirs, new: mine}, r.Body.Close}
			return nil
		}
	}))
}

// BenchmarkClusters prints how much memory the operator takes for many clusters: with some, with more, after
// a while, and when it has started again, found all of them as they must be, and waited as long.
func BenchmarkClusters(b *testing.B) {
	many, box := manyTenants(b), forMany.Get(b)
	t := many[0]
	// A small part of the heap is garbage then.
	const setting = "GOGC=20"
	o := start(b, box.Seed.Kubeconfig, "mode: Standalone\n", setting)
	result := newTable("Memory of the operator with clusters that have Calico", "clusters", "resident", "live heap", "for each", "stacks", "for each", "goroutines", "connections")
	defer func() { t.Expect(result.Flush()).To(Succeed()) }() // also what was measured before a failure
	made, first := 0, counters{}
	const stacks = "go_memstats_stack_inuse_bytes"
	report := func(name string, after time.Duration) {
		<-time.After(after)
		now, _ := o.memory()
		counted := o.collected(b)
		if made == 0 {
			first = counted
		}
		mib := func(value float64) string { return fmt.Sprintf("%.2f MiB", value/(1<<20)) }
		grown := counted.since(first)
		files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", o.process))
		result.row(name, fmt.Sprintf("%.0f MiB", now), mib(counted[liveHeap]), mib(grown[liveHeap]/float64(max(made, 1))),
			mib(counted[stacks]), mib(grown[stacks]/float64(max(made, 1))), fmt.Sprint(counted["go_goroutines"]), fmt.Sprint(len(files)))
	}
	report("0", settled)
	for _, count := range numbers(b, *clusterCounts) {
		for made < count {
			began := made
			for ; made < count && made < began+servers; made++ {
				many[made%servers].addIdentity(made)
				t.begin(cluster(made))
			}
			for i := began; i < made; i++ {
				t.awaitApplied(cluster(i))
			}
		}
		report(fmt.Sprint(count), settled)
	}
	report(fmt.Sprintf("%d, after %v", made, *idleTime), *idleTime)
	o.profile(b, "memory", "heap?gc=1")
	o.stop()
	o = start(b, box.Seed.Kubeconfig, "mode: Standalone\n", setting)
	t.Eventually(func() float64 { after, _ := o.counters(); return after[reconciled] }).
		WithTimeout(2*time.Minute + time.Duration(made)*time.Second).Should(BeNumerically(">=", made))
	report(fmt.Sprintf("%d, started again", made), settled)
	report(fmt.Sprintf("%d, after %v", made, *idleTime), *idleTime)
	o.profile(b, "memory-started-again", "heap?gc=1")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkAtOnce prints how long it takes to apply Calico's objects in ten clusters at once, each with an
// API server of its own, and to delete them.
func BenchmarkAtOnce(b *testing.B) {
	many, box := manyTenants(b), forMany.Get(b)
	_, objects := calico(b)
	m := machine{etcd: component(b, box, "etcd", "")}
	for i, t := range many {
		m.apiServers = append(m.apiServers, apiServer(b, box, box.Shoots[i].Server))
		t.add(single(i), t.shoot.Kubeconfig)
	}
	kinds := byKind(objects)
	rawly := func(applies bool) func() {
		return func() {
			many[0].Expect(eachAtOnce(many, func(t *tenants) error {
				if applies {
					return t.rawly(kinds, t.applyRawly)
				}
				return t.rawly(reversed(kinds), t.deleteRawly)
			})).To(Succeed())
		}
	}
	rawly(true)() // once before, since API servers are faster afterwards
	rawly(false)()
	var applied, deleted rounds
	for range roundsAtOnce {
		m.operator = 0
		rawApply, rawDeletion := m.measure(rawly(true)), m.measure(rawly(false))
		o := start(b, box.Seed.Kubeconfig, "mode: Standalone\n")
		m.operator = o.process
		<-time.After(settled)
		applied = append(applied, round{m.measure(func() {
			for i := range many {
				many[0].begin(single(i))
			}
			for i := range many {
				many[0].awaitApplied(single(i))
			}
		}), rawApply})
		<-time.After(settled)
		deleted = append(deleted, round{m.measure(func() {
			for i := range many {
				many[0].Expect(many[0].seed.Delete(b.Context(), managedResource(single(i)))).To(Succeed())
			}
			for i := range many {
				many[0].awaitGone(single(i))
			}
		}), rawDeletion})
		o.stop()
	}
	result := newTable(fmt.Sprintf("%d objects of Calico in each of %d clusters at once, medians of %d; times is how many times as much as by the raw client", len(objects), servers, roundsAtOnce),
		"", "wall", "times", "operator CPU", "API servers' CPU", "times", "etcd CPU")
	for _, row := range []struct {
		name string
		of   rounds
	}{{"first apply", applied}, {"deletion", deleted}} {
		of := row.of
		result.row(row.name, seconds(of.median(wall, 1)), of.times(wall), ms(of.median(operatorCPU, 1)), ms(of.median(apiServerCPU, 1)), of.times(apiServerCPU), ms(of.median(etcdCPU, 1)))
	}
	many[0].Expect(result.Flush()).To(Succeed())
	b.ReportMetric(0, "ns/op")
}

// single is the name of the control plane of a cluster that has an API server of its own.
func single(i int) string { return fmt.Sprintf("shoot--costs--once-%04d", i) }
