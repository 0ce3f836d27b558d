// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// world is a simulated cluster: nodes with kubelets and probes that test and report as the API
// documents it, packets that arrive or do not, and an operator that examines the reports after
// events and when its last verdict asks for it. A step is a second.
type world struct {
	random *rand.Rand
	now    time.Time
	nodes  map[string]*simulated
	names  []string // of nodes, sorted
	// drops reports whether an attempt from a node fails. full is one that exchanges full segments.
	drops func(from string, t test, target string, full bool) bool
	// cut are nodes without a link, which reach neither others nor the API server.
	cut map[string]bool
	// broken means that no probe runs.
	broken bool
	dual   bool
	// skew is how much the clocks of all nodes are ahead.
	skew time.Duration

	memory  Memory
	verdict Verdict
	examine time.Time // when to examine next
	// changes are the verdicts that differ from the former in their results.
	changes []change
	created int
	// published is the verdict that the status has, and writes when it got one.
	published published
	writes    []time.Time
	// turns is how often the results in the status have changed.
	turns int
}

type change struct {
	at      time.Time
	verdict Verdict
}

// simulated is a node.
type simulated struct {
	node     corev1.Node
	probing  time.Time // when its probe starts
	dead     bool
	silent   time.Time // since when the kubelet is silent
	hash     uint64
	chosen   time.Time
	attempts map[target]*attempts
	order    []target // the keys of attempts, sorted
	report   connectivityv1alpha1.NodeConnectivity
	reported time.Time
	failing  string
	tested   string
}

type target struct {
	test
	name string
}

type attempts struct {
	next, started, ends time.Time // ends is zero between attempts
	fails               bool
	number              int
	failed              uint32 // the latest attempts, the last one in the lowest bit
	connectivityv1alpha1.Result
}

const (
	attemptPeriod  = 10 * time.Second
	attemptTimeout = 3 * time.Second
	kubeletGrace   = 45 * time.Second
	rotation       = 5 * time.Minute
)

func newWorld(seed uint64, nodes int) *world {
	w := &world{
		random: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), nodes: map[string]*simulated{},
		drops: func(string, test, string, bool) bool { return false }, cut: map[string]bool{},
	}
	for range nodes {
		w.join(-time.Hour, 0)
	}
	return w
}

// join adds a node that was created some time ago and whose probe starts after a while.
func (w *world) join(age, starts time.Duration) *simulated {
	name := fmt.Sprintf("worker-%03d", w.created)
	w.created++
	n := &simulated{probing: w.now.Add(starts), attempts: map[target]*attempts{}}
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	n.hash = h.Sum64()
	n.node.Name, n.node.CreationTimestamp = name, metav1.NewTime(w.now.Add(age))
	n.node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	w.nodes[name] = n
	w.names = slices.Sorted(maps.Keys(w.nodes))
	return n
}

func (w *world) remove(name string) {
	delete(w.nodes, name)
	w.names = slices.Sorted(maps.Keys(w.nodes))
}

func (w *world) isUp(name string) bool {
	n := w.nodes[name]
	return n != nil && !n.dead && !w.cut[name]
}

// fails reports whether an attempt fails now.
func (w *world) fails(from string, t test, name string, full bool) bool {
	if t.ofNodes() && from != name && (w.cut[from] || !w.isUp(name)) {
		return true
	}
	return !t.ofNodes() && w.cut[from] || w.drops(from, t, name, full)
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(time.Second)
		w.step()
	}
}

// until lets time pass until the status has a verdict as wanted, and returns how long that took.
func (w *world) until(wanted func(Verdict) bool, limit time.Duration) (time.Duration, bool) {
	began := w.now
	for w.now.Sub(began) < limit {
		if wanted(w.published.verdict) {
			return w.now.Sub(began), true
		}
		w.now = w.now.Add(time.Second)
		w.step()
	}
	return limit, false
}

func (w *world) step() {
	for _, name := range w.names {
		n := w.nodes[name]
		w.stepKubelet(n)
		if n.dead {
			// Another probe starts with the node, and reports ten seconds later.
			n.attempts, n.order, n.failing, n.tested = map[target]*attempts{}, nil, "", ""
			n.chosen, n.reported = time.Time{}, w.now
		}
		if n.dead || w.broken || w.now.Before(n.probing) {
			continue
		}
		w.stepProbe(n)
	}
	if !w.examine.IsZero() && w.now.Before(w.examine) {
		return
	}
	var evidence Evidence
	for _, name := range w.names {
		evidence.Nodes = append(evidence.Nodes, w.nodes[name].node)
		if !w.nodes[name].reported.IsZero() {
			evidence.Reports = append(evidence.Reports, w.nodes[name].report)
		}
	}
	before, told := w.verdict, w.published
	w.memory.told = w.published.verdict.results
	w.verdict, w.memory = Examine(evidence, w.memory, w.now)
	again := deadline(w.verdict.Again)
	var due time.Duration
	w.published, due = w.published.next(w.verdict, w.now)
	again.after(due)
	w.examine = w.now.Add(time.Duration(again))
	if !sameResults(told.verdict, w.published.verdict) {
		w.turns++
	}
	if w.published.paid != told.paid {
		w.writes = append(w.writes, w.now)
	}
	if !sameResults(before, w.verdict) {
		w.changes = append(w.changes, change{w.now, w.verdict})
	}
}

// restart ends the operator, and starts one that knows nothing but the Network's status.
func (w *world) restart() {
	report := w.published.report(0)
	network := &extensionsv1alpha1.Network{}
	network.Status.Conditions = report.Conditions
	raw, err := json.Marshal(report.ProviderStatus)
	if err != nil {
		panic(err)
	}
	network.Status.ProviderStatus = &runtime.RawExtension{Raw: raw}
	if w.dual {
		network.Spec.IPFamilies = []extensionsv1alpha1.IPFamily{"IPv4", "IPv6"}
	}
	r := restore(network, w.now)
	w.memory, w.published, w.examine = r.memory, r.published, w.now
}

// told is the time by the nodes' clocks.
func (w *world) told(at time.Time) metav1.Time { return metav1.NewTime(at.Add(w.skew)) }

func (w *world) stepKubelet(n *simulated) {
	if w.isUp(n.node.Name) {
		n.silent = time.Time{}
	} else if n.silent.IsZero() {
		n.silent = w.now
	}
	ready := &n.node.Status.Conditions[0]
	status := corev1.ConditionTrue
	if !n.silent.IsZero() && w.now.Sub(n.silent) >= kubeletGrace {
		status = corev1.ConditionUnknown
	}
	if ready.Status != status {
		n.node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(w.now)}}
	}
}

// choose returns the peers of a node by rendezvous hashing, and one in turn.
func (w *world) choose(n *simulated) []string {
	type weighed struct {
		weight uint64
		name   string
	}
	var chosen []weighed
	turn, inTurn := int(w.now.Unix()/int64(rotation/time.Second))%len(w.names), ""
	for i := range w.names {
		name := w.names[(turn+i)%len(w.names)]
		if name == n.node.Name || w.now.Before(w.nodes[name].probing.Add(15*time.Second)) {
			continue
		}
		next := weighed{(n.hash ^ w.nodes[name].hash) * 0x9e3779b97f4a7c15, name}
		at, _ := slices.BinarySearchFunc(chosen, next, func(a, b weighed) int { return cmp.Compare(a.weight, b.weight) })
		if at == 5 {
			if inTurn == "" {
				inTurn = name
			}
			continue
		}
		chosen = slices.Insert(chosen, at, next)
		if len(chosen) > 5 {
			if inTurn == "" {
				inTurn = chosen[5].name
			}
			chosen = chosen[:5]
		}
	}
	var names []string
	for _, each := range chosen {
		names = append(names, each.name)
	}
	if inTurn != "" && !slices.Contains(names, inTurn) {
		names = append(names, inTurn)
	}
	return names
}

func (w *world) targets(n *simulated) map[target]bool {
	wanted := map[target]bool{}
	tested := families[:1]
	if w.dual {
		tested = families
	}
	for _, family := range tested {
		for _, peer := range w.choose(n) {
			wanted[target{test{family, connectivityv1alpha1.CheckPods}, peer}] = true
			wanted[target{test{family, connectivityv1alpha1.CheckNodes}, peer}] = true
		}
		wanted[target{test{family, connectivityv1alpha1.CheckNodes}, n.node.Name}] = true
		wanted[target{test{family, connectivityv1alpha1.CheckServices}, "trellis-probe"}] = true
		wanted[target{test{family, connectivityv1alpha1.CheckDNS}, "trellis-probe.kube-system.svc"}] = true
	}
	return wanted
}

func (w *world) stepProbe(n *simulated) {
	// The targets are chosen anew every ten seconds, as endpoints are read.
	if w.now.Sub(n.chosen) >= 10*time.Second {
		n.chosen = w.now
		wanted := w.targets(n)
		maps.DeleteFunc(n.attempts, func(t target, _ *attempts) bool { return !wanted[t] })
		for t := range wanted {
			if n.attempts[t] == nil {
				n.attempts[t] = &attempts{Result: connectivityv1alpha1.Result{Name: t.name}}
			}
		}
		n.order = sortedTargets(n.attempts)
		for _, t := range n.order {
			if a := n.attempts[t]; a.next.IsZero() {
				a.next = w.now.Add(time.Duration(w.random.Int64N(int64(attemptPeriod))))
			}
		}
	}
	for _, t := range n.order {
		w.stepAttempt(n, t, n.attempts[t])
	}
	w.send(n)
}

func sortedTargets(all map[target]*attempts) []target {
	return slices.SortedFunc(maps.Keys(all), func(a, b target) int {
		return cmp.Or(cmp.Compare(a.family, b.family), slices.Index(checks, a.check)-slices.Index(checks, b.check), cmp.Compare(a.name, b.name))
	})
}

func (w *world) stepAttempt(n *simulated, t target, a *attempts) {
	if a.ends.IsZero() && !w.now.Before(a.next) {
		full := a.number%3 == 0 || a.ConsecutiveFailures > 0
		a.number++
		a.started, a.ends, a.fails = w.now, w.now, w.fails(n.node.Name, t.test, t.name, full)
		if a.fails {
			a.ends = w.now.Add(attemptTimeout)
		}
		a.next = w.now.Add(attemptPeriod + time.Duration(w.random.Int64N(int64(2*time.Second))) - time.Second)
	}
	if a.ends.IsZero() || w.now.Before(a.ends) {
		return
	}
	a.ends = time.Time{}
	a.Attempts, a.failed = min(a.Attempts+1, 30), a.failed<<1&(1<<30-1)
	if a.fails {
		a.failed |= 1
	}
	a.Failures = int32(bits.OnesCount32(a.failed))
	if !a.fails {
		a.ConsecutiveFailures, a.FailingSince, a.Error = 0, nil, ""
		a.LastSuccess = new(w.told(w.now))
		return
	}
	if a.ConsecutiveFailures++; a.ConsecutiveFailures == 1 {
		a.FailingSince = new(w.told(a.started))
	}
	a.Error = "no answer within 3s"
}

// send reports when other targets are failing or tested, though not within ten seconds, and every
// minute.
func (w *world) send(n *simulated) {
	age := w.now.Sub(n.reported)
	if age < 10*time.Second || w.cut[n.node.Name] {
		return
	}
	var failing, tested strings.Builder
	var list []connectivityv1alpha1.Check
	for _, t := range n.order {
		a := n.attempts[t]
		if a.Attempts == 0 {
			continue
		}
		tested.WriteString(t.name)
		if len(list) == 0 || list[len(list)-1].Type != t.check || list[len(list)-1].Family != t.family {
			list = append(list, connectivityv1alpha1.Check{Family: t.family, Type: t.check})
		}
		last := &list[len(list)-1]
		last.Results = append(last.Results, a.Result)
		if a.ConsecutiveFailures >= connectivityv1alpha1.FailingThreshold {
			failing.WriteString(string(t.family) + string(t.check) + t.name)
		}
	}
	news := failing.String() != n.failing || len(list) != len(n.report.Report.Checks)
	if age < time.Minute && !news && tested.String() == n.tested && !n.reported.IsZero() {
		return
	}
	before, first := n.report, n.reported.IsZero()
	n.reported, n.failing, n.tested = w.now, failing.String(), tested.String()
	n.report = connectivityv1alpha1.NodeConnectivity{Report: connectivityv1alpha1.Report{Time: w.told(w.now), Checks: list}}
	n.report.Name = n.node.Name
	if first || shootclient.Reports.Relevant(&before, &n.report) {
		w.examine = w.now.Add(time.Second)
	}
}
