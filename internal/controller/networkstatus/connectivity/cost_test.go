// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"text/tabwriter"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/probe"
	"github.com/trellis-network/trellis/internal/probe/apiserver"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// What connectivity costs a minute: requests of the real probes to the shoot's API server, verdicts
// of the operator, which send none, writes of the status, and the operator's memory. Ten times as
// many nodes cost ten times as much at most. `make bench` prints the table.
func TestWhatConnectivityCostsGrowsLinearlyAtMost(t *testing.T) {
	sizes := []int{100, 300, 1000}
	measured := map[string]map[int]cost{}
	for _, nodes := range sizes {
		memory := memoryOf(nodes)
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, nodes)
			defer c.stop()
			// The first reads of the peers follow each other sooner than later ones, of which 1,000
			// nodes make one each ten minutes.
			time.Sleep(startWithin + 11*time.Minute)
			for _, scenario := range []struct {
				name    string
				happens func()
				status  corev1beta1.ConditionStatus
			}{
				{"nothing happens", func() { time.Sleep(5 * time.Minute) }, corev1beta1.ConditionTrue},
				{"the link of a node is down", c.cutOff, corev1beta1.ConditionFalse},
				{"a tenth of the nodes is replaced each minute", c.replaceNodes, corev1beta1.ConditionTrue},
			} {
				found := c.measure(scenario.happens)
				found.memory = memory
				NewWithT(t).Expect(found.status).To(Equal(scenario.status), scenario.name)
				if measured[scenario.name] == nil {
					measured[scenario.name] = map[int]cost{}
				}
				measured[scenario.name][nodes] = found
			}
		})
	}
	t.Log("What connectivity costs a minute:\n" + table(measured, sizes))

	g := NewWithT(t)
	for name, of := range measured {
		for i, more := range sizes[1:] {
			fewer := sizes[i]
			values := map[string]func(cost) float64{
				"requests": func(c cost) float64 { return c.reports + c.reads },
				"memory":   func(c cost) float64 { return c.memory },
			}
			if name == "nothing happens" { // a peer that fails or has gone is looked for in a list of all
				values["endpoints"] = func(c cost) float64 { return c.endpoints }
			}
			for what, value := range values {
				const noise = 1.2
				linear := value(of[fewer]) * float64(more) / float64(fewer)
				g.Expect(value(of[more])).To(BeNumerically("<=", noise*linear), "%s of %d nodes, and of %d: %s", what, fewer, more, name)
			}
		}
		for nodes, c := range of {
			g.Expect(c.writes).To(BeNumerically("<=", 1), "status of %d nodes: %s", nodes, name)
		}
	}
	for nodes, c := range measured["nothing happens"] {
		g.Expect(c.writes).To(BeZero(), "status of %d nodes", nodes)
	}
}

// cost is that of one minute.
type cost struct {
	// reports and reads of the peers are requests of all probes. endpoints is what all reads return.
	reports, reads, endpoints float64
	verdicts, writes          float64
	// memory of the operator, in kB: the reports as they are cached, and what is remembered.
	memory float64
	// status is that of the last verdict that was written.
	status corev1beta1.ConditionStatus
}

func table(measured map[string]map[int]cost, sizes []int) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODES\tWHAT HAPPENS\tREQUESTS\tREPORTS\tREADS\tENDPOINTS READ\tVERDICTS\tSTATUS WRITES\tMEMORY")
	for _, nodes := range sizes {
		for _, name := range slices.Sorted(maps.Keys(measured)) {
			c := measured[name][nodes]
			fmt.Fprintf(w, "%d\t%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.1f\t%.1f\t%.0f kB\n", nodes, name, c.reports+c.reads, c.reports, c.reads, c.endpoints, c.verdicts, c.writes, c.memory)
		}
	}
	w.Flush()
	return text.String()
}

// memoryOf returns how many kB the reports of as many nodes take, with what a verdict remembers.
func memoryOf(nodes int) float64 {
	before := heap()
	evidence := benchmarkEvidence(nodes)
	_, memory := Examine(evidence, Memory{}, noon)
	after := heap()
	runtime.KeepAlive(evidence)
	runtime.KeepAlive(memory)
	return (after - before) / 1000
}

// cluster is nodes with the probe's own code in the time of a bubble, an API server that counts
// their requests, and an operator that examines the reports after events and when its last verdict
// asks for it.
type cluster struct {
	ctx     context.Context
	cancel  func()
	running sync.WaitGroup
	created uint32
	news    chan struct{} // of length 1: other targets fail

	mutex     sync.Mutex
	nodes     map[string]*node
	endpoints []apiserver.Endpoint // replaced, and not changed
	cut       string               // the node whose link is down
	reports   map[string]connectivityv1alpha1.NodeConnectivity
	counted   cost
}

// node is one with a probe.
type node struct {
	corev1.Node
	cluster  *cluster
	pod, own netip.Addr
	stop     func()
	// stated are the nodes whose addresses the probe has learned.
	stated map[string]bool
}

func newCluster(t *testing.T, nodes int) *cluster {
	c := &cluster{news: make(chan struct{}, 1), nodes: map[string]*node{}, reports: map[string]connectivityv1alpha1.NodeConnectivity{}}
	c.ctx, c.cancel = context.WithCancel(t.Context())
	for range nodes {
		c.join(time.Hour, 0, startWithin)
	}
	c.running.Go(c.operate)
	return c
}

// stop ends all that runs.
func (c *cluster) stop() {
	c.cancel()
	c.running.Wait()
}

// address returns the i-th address of a range.
func address(first byte, i uint32) netip.Addr {
	bytes := [4]byte{}
	binary.BigEndian.PutUint32(bytes[:], i+1)
	bytes[0] = first
	return netip.AddrFrom4(bytes)
}

// startWithin is the time in which the probes of all nodes start, so that their reads spread.
const startWithin = 10 * time.Minute

// join adds a node of an age, whose probe starts between two times from now.
func (c *cluster) join(age, earliest, latest time.Duration) {
	ctx, stop := context.WithCancel(c.ctx)
	i := c.created
	c.created++
	n := &node{cluster: c, pod: address(10, i), own: address(11, i), stop: stop, stated: map[string]bool{}}
	n.Name, n.CreationTimestamp = fmt.Sprintf("worker-%05d", i), metav1.NewTime(time.Now().Add(-age))
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.nodes[n.Name] = n
	if earliest == 0 {
		c.endpoints = append(c.endpoints, n.endpoint())
	}
	c.running.Go(func() {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		var mutex sync.Mutex
		chance := func() float64 {
			mutex.Lock()
			defer mutex.Unlock()
			return random.Float64()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(earliest + time.Duration(chance()*float64(latest-earliest))):
		}
		if earliest > 0 {
			c.mutex.Lock()
			c.endpoints = append(slices.Clone(c.endpoints), n.endpoint())
			c.mutex.Unlock()
		}
		(&probe.Probe{
			Settings: probe.Settings{
				Node: n.Name, Namespace: "kube-system", Service: "trellis-probe", PodIPs: []netip.Addr{n.pod}, HostIPs: []netip.Addr{n.own},
				Port: 8099, KubeletPort: 10250, Peers: 5, Interval: 10 * time.Second, ReportInterval: time.Minute,
			},
			DNS: probe.DNS{Servers: []netip.Addr{address(12, 0)}, Name: "trellis-probe.kube-system.svc.cluster.local"},
			API: n, Attempt: n.attempt, PodInterface: func() *connectivityv1alpha1.PodInterface { return nil },
			Chance: chance, Log: slog.New(slog.DiscardHandler),
		}).Run(ctx)
	})
}

func (n *node) endpoint() apiserver.Endpoint {
	return apiserver.Endpoint{Node: n.Name, Address: n.pod, Ready: true}
}

// remove deletes a node, as a cluster that becomes smaller does: its pods end with it.
func (c *cluster) remove(name string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.nodes[name].stop()
	delete(c.nodes, name)
	delete(c.reports, name)
	c.endpoints = slices.DeleteFunc(slices.Clone(c.endpoints), func(e apiserver.Endpoint) bool { return e.Node == name })
}

// cutOff takes the link of the oldest node down for three minutes, which Kubernetes finds out with
// its defaults.
func (c *cluster) cutOff() {
	c.mutex.Lock()
	name := slices.Min(slices.Collect(maps.Keys(c.nodes)))
	c.mutex.Unlock()
	set := func(cut string, ready corev1.ConditionStatus) {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.cut = cut
		c.nodes[name].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.Now()}}
	}
	set(name, corev1.ConditionTrue)
	time.Sleep(kubeletGrace)
	set(name, corev1.ConditionUnknown)
	time.Sleep(3*time.Minute - kubeletGrace)
	set("", corev1.ConditionTrue)
}

// replaceNodes deletes the oldest nodes, a tenth each minute for three minutes, and adds as many new
// ones, whose probes start half a minute later at the earliest.
func (c *cluster) replaceNodes() {
	const minutes = 3
	c.mutex.Lock()
	replaced := minutes * len(c.nodes) / 10
	oldest := slices.Sorted(maps.Keys(c.nodes))[:replaced]
	c.mutex.Unlock()
	for _, name := range oldest {
		time.Sleep(minutes * time.Minute / time.Duration(replaced))
		c.remove(name)
		c.join(0, 30*time.Second, 90*time.Second)
	}
}

// measure returns what a minute costs while something happens.
func (c *cluster) measure(happens func()) cost {
	c.mutex.Lock()
	c.counted = cost{status: c.counted.status}
	c.mutex.Unlock()
	began := time.Now()
	happens()
	minutes := time.Since(began).Minutes()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	found := c.counted
	for _, value := range []*float64{&found.reports, &found.reads, &found.endpoints, &found.verdicts, &found.writes} {
		*value /= minutes
	}
	return found
}

var errCutOff = errors.New("no route to host")

// Endpoints implements probe.APIServer.
func (n *node) Endpoints(context.Context, string, string) ([]apiserver.Endpoint, error) {
	c := n.cluster
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.cut == n.Name {
		return nil, errCutOff
	}
	c.counted.reads++
	c.counted.endpoints += float64(len(c.endpoints))
	return c.endpoints, nil
}

// ServiceIPs implements probe.APIServer.
func (n *node) ServiceIPs(context.Context, string, string) ([]netip.Addr, error) {
	c := n.cluster
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.cut == n.Name {
		return nil, errCutOff
	}
	c.counted.reads++
	return []netip.Addr{address(13, 0)}, nil
}

// Report implements probe.APIServer.
func (n *node) Report(_ context.Context, name string, report connectivityv1alpha1.Report) error {
	c := n.cluster
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.cut == n.Name {
		return errCutOff
	}
	if c.nodes[name] == nil {
		return nil // its node was deleted meanwhile, and the garbage collector takes the report
	}
	c.counted.reports++
	before := c.reports[name]
	after := connectivityv1alpha1.NodeConnectivity{ObjectMeta: metav1.ObjectMeta{Name: name}, Report: report}
	c.reports[name] = after
	if shootclient.Reports.Relevant(&before, &after) {
		select {
		case c.news <- struct{}{}:
		default:
		}
	}
	return nil
}

// attempt implements probe.Attempt. A peer states its addresses each time; here it does once, which
// has the same effect.
func (n *node) attempt(ctx context.Context, target probe.Target, _ bool) probe.Outcome {
	outcome := probe.Outcome{Started: time.Now(), Latency: time.Millisecond}
	if n.reaches(target, &outcome) {
		outcome.Ended = time.Now()
		return outcome
	}
	select {
	case <-ctx.Done():
	case <-time.After(attemptTimeout):
	}
	return probe.Outcome{Started: outcome.Started, Ended: time.Now(), Failure: "no connection within 3s"}
}

func (n *node) reaches(target probe.Target, outcome *probe.Outcome) bool {
	c := n.cluster
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if target.Name == n.Name {
		return true
	}
	if c.cut == n.Name || c.cut == target.Name {
		return false
	}
	if target.Type != connectivityv1alpha1.CheckPods && target.Type != connectivityv1alpha1.CheckNodes {
		return true
	}
	peer := c.nodes[target.Name]
	if peer == nil {
		return false
	}
	if target.Type == connectivityv1alpha1.CheckPods && !n.stated[target.Name] {
		n.stated[target.Name] = true
		outcome.NodeAddresses = []string{peer.own.String()}
	}
	return true
}

// operate examines the reports, a second after other targets fail: events that come together are one.
func (c *cluster) operate() {
	var memory Memory
	var status published
	var again time.Duration
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.news:
			time.Sleep(time.Second)
		case <-time.After(again):
		}
		c.mutex.Lock()
		var evidence Evidence
		for name, node := range c.nodes {
			evidence.Nodes = append(evidence.Nodes, node.Node)
			if report, reports := c.reports[name]; reports {
				evidence.Reports = append(evidence.Reports, report)
			}
		}
		c.mutex.Unlock()
		verdict, next := Examine(evidence, memory, time.Now())
		paid := status.paid
		var due time.Duration
		status, due = status.next(verdict, time.Now())
		sooner := deadline(verdict.Again)
		sooner.after(due)
		memory, again = next, time.Duration(sooner)
		c.mutex.Lock()
		c.counted.verdicts++
		if c.counted.status = status.verdict.Status; status.paid != paid {
			c.counted.writes++
		}
		c.mutex.Unlock()
	}
}
