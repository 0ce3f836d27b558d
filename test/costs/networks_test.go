// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"context"
	"flag"
	"fmt"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/sandbox"
)

var (
	// Each benchmark has sandboxes of its own, so that none measures what another has left. The raw client has one as
	// well, since the operator would see its Networks.
	forNetworks, forRawNetworks = harness.Own(sandbox.Options{}), harness.Own(sandbox.Options{})

	networkCounts = flag.String("costs.networks", "200,1000", "how many Networks are measured")
	idleTime      = flag.Duration("costs.idle", time.Minute, "how long it is measured what an operator does that has nothing to do")
)

const (
	// passes is how often all Networks are asked for. They are asked for, and changed, in so many parts.
	passes, parts = 3, 5
	// changed is how many Networks of a part are changed, at most.
	changed = 50
	// workers is how many Networks the operator reconciles at the same time, and the raw client.
	workers = 5
	// mtu is that of a Network at first.
	mtu = 1440
)

func TestMain(m *testing.M) {
	run := m.Run
	for _, each := range []*harness.Landscape{forNetworks, forRawNetworks, forResourceManager, forMany} {
		inner := run
		run = func() int { return each.Main(runner(inner)) }
	}
	os.Exit(run())
}

// runner is a function for Landscape.Main to run before it stops the sandbox.
type runner func() int

// Run implements the parameter of Landscape.Main.
func (r runner) Run() int { return r() }

// config returns the providerConfig of a Network.
func config(mtu int) string {
	return fmt.Sprintf(`{"apiVersion":"calico.networking.extensions.gardener.cloud/v1alpha1","kind":"NetworkConfig","vethMTU":"%d"}`, mtu)
}

// numbers reads a flag with numbers.
func numbers(tb testing.TB, flag string) (all []int) {
	tb.Helper()
	for text := range strings.SplitSeq(flag, ",") {
		n, err := strconv.Atoi(text)
		NewWithT(tb).Expect(err).NotTo(HaveOccurred())
		all = append(all, n)
	}
	return all
}

// exampleShoot reads the Shoot of the documents' examples that has Calico.
func exampleShoot(tb testing.TB) *corev1beta1.Shoot {
	tb.Helper()
	document, err := os.ReadFile("../../examples/shoot-johndoe-azure.yaml")
	NewWithT(tb).Expect(err).NotTo(HaveOccurred())
	shoot := &corev1beta1.Shoot{}
	NewWithT(tb).Expect(yaml.Unmarshal(document, shoot)).To(Succeed())
	shoot.Status.TechnicalID = "shoot--dev--johndoe"
	return shoot
}

// built returns what the pipeline builds of a pipeline's plugins.
func built(tb testing.TB) *pipeline.Pipeline {
	tb.Helper()
	p, err := pipeline.New(plugins.All(), providers.All())
	NewWithT(tb).Expect(err).NotTo(HaveOccurred())
	return p
}

// seed is a seed of Gardener with Networks. It plays gardenlet, which writes the Networks, and the
// resource manager, which reports each ManagedResource as applied.
type seed struct {
	*harness.Cluster
	*WithT
	tb  testing.TB
	box *sandbox.Sandbox

	mutex    sync.Mutex
	networks map[string]*extensionsv1alpha1.Network // by their namespaces
	// begun has the versions that Networks got from gardenlet's last write.
	begun   map[string]string
	changes chan struct{}
}

// newSeed begins to watch the Networks.
func newSeed(tb testing.TB, landscape *harness.Landscape) *seed {
	tb.Helper()
	cluster := landscape.Seed(tb)
	s := &seed{Cluster: cluster, WithT: NewWithT(tb), tb: tb, box: landscape.Get(tb), networks: map[string]*extensionsv1alpha1.Network{}, begun: map[string]string{}, changes: make(chan struct{}, 1)}
	networks, err := cluster.Watch(tb.Context(), &extensionsv1alpha1.NetworkList{})
	s.Expect(err).NotTo(HaveOccurred())
	go func() {
		for event := range networks.ResultChan() {
			if n, ok := event.Object.(*extensionsv1alpha1.Network); ok && event.Type != watch.Deleted {
				s.mutex.Lock()
				s.networks[n.Namespace] = n
				s.mutex.Unlock()
			}
			select {
			case s.changes <- struct{}{}:
			default:
			}
		}
	}()
	return s
}

// applies plays the resource manager until stop is called.
func (s *seed) applies() (stop func()) {
	all, err := s.Watch(s.tb.Context(), &resourcesv1alpha1.ManagedResourceList{})
	s.Expect(err).NotTo(HaveOccurred())
	todo := make(chan *resourcesv1alpha1.ManagedResource, 10000)
	for range workers {
		go func() {
			for mr := range todo {
				s.apply(mr)
			}
		}()
	}
	go func() {
		defer close(todo)
		for event := range all.ResultChan() {
			if mr, ok := event.Object.(*resourcesv1alpha1.ManagedResource); ok && event.Type != watch.Deleted && mr.Status.ObservedGeneration != mr.Generation {
				todo <- mr
			}
		}
	}()
	return all.Stop
}

// apply reports a ManagedResource as applied.
func (s *seed) apply(mr *resourcesv1alpha1.ManagedResource) {
	before := mr.DeepCopy()
	harness.Applied(mr)
	if err := s.Status().Patch(context.Background(), mr, crclient.MergeFrom(before)); err != nil && s.tb.Context().Err() == nil {
		s.tb.Errorf("report a ManagedResource as applied: %v", err)
	}
}

// await waits until what gardenlet has asked for last has succeeded for all Networks.
func (s *seed) await(namespaces []string) {
	s.tb.Helper()
	timeout := time.After(10 * time.Minute)
	for {
		s.mutex.Lock()
		open := 0
		for _, namespace := range namespaces {
			if !s.isDone(namespace) {
				open++
			}
		}
		s.mutex.Unlock()
		if open == 0 {
			return
		}
		select {
		case <-s.changes:
		case <-timeout:
			s.tb.Fatalf("%d of %d Networks are not reconciled", open, len(namespaces))
		}
	}
}

// isDone reports whether nothing is asked for and the last operation has succeeded, as far as the
// watch shows what gardenlet has written.
func (s *seed) isDone(namespace string) bool {
	n, begun := s.networks[namespace], s.begun[namespace]
	if n == nil || len(n.ResourceVersion) < len(begun) || len(n.ResourceVersion) == len(begun) && n.ResourceVersion < begun {
		return false
	}
	return n.RequestedOperation() == "" && n.HasSucceeded() && n.Status.ObservedGeneration == n.Generation
}

// prepare creates the control-plane namespaces of Networks. All names have the same length, since
// what is sent again is encoded with its length.
func (s *seed) prepare(prefix string, count, of int) (namespaces []string) {
	for i := range count {
		namespaces = append(namespaces, fmt.Sprintf("shoot--costs--%s-%04d-%04d", prefix, of, i))
	}
	s.each(namespaces, func(namespace string) error {
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		shoot := exampleShoot(s.tb)
		shoot.Status.TechnicalID = namespace
		s.PutShoot(s.tb, namespace, shoot)
		return s.Create(s.tb.Context(), object)
	})
	return namespaces
}

// each calls f for all namespaces, several at once.
func (s *seed) each(namespaces []string, f func(namespace string) error) {
	var all sync.WaitGroup
	todo := make(chan string)
	for range workers {
		all.Go(func() {
			for namespace := range todo {
				if err := f(namespace); err != nil {
					s.tb.Error(err)
				}
			}
		})
	}
	for _, namespace := range namespaces {
		todo <- namespace
	}
	close(todo)
	all.Wait()
}

// create, change and ask are what gardenlet does to a Network.
func (s *seed) create(namespace string) error {
	n := exampleNetwork(namespace)
	n.Annotations = map[string]string{extensionsv1alpha1.OperationAnnotation: "reconcile"}
	n.Spec = extensionsv1alpha1.NetworkSpec{
		Type: "calico", PodCIDR: "100.64.0.0/12", ServiceCIDR: "100.96.0.0/13", ProviderConfig: &runtime.RawExtension{Raw: []byte(config(mtu))},
	}
	return s.begin(n, s.Create(s.tb.Context(), n))
}

func exampleNetwork(namespace string) *extensionsv1alpha1.Network {
	return &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "example"}}
}

// begin remembers which version a Network got.
func (s *seed) begin(n *extensionsv1alpha1.Network, err error) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.begun[n.Namespace] = n.ResourceVersion
	return err
}

func (s *seed) change(namespace string, mtu int) error {
	return s.patch(namespace, `{"metadata":{"annotations":{"gardener.cloud/operation":"reconcile"}},"spec":{"providerConfig":`+config(mtu)+`}}`)
}

func (s *seed) ask(namespace string) error {
	return s.patch(namespace, `{"metadata":{"annotations":{"gardener.cloud/operation":"reconcile"}}}`)
}

func (s *seed) patch(namespace, patch string) error {
	n := exampleNetwork(namespace)
	return s.begin(n, s.Patch(s.tb.Context(), n, crclient.RawPatch(types.MergePatchType, []byte(patch))))
}

// phase is something that happens to all Networks.
type phase struct {
	name string
	do   func(s *seed, namespace string) error
	// parts is in how many parts of the Networks it happens, one after the other.
	parts int
	// most is to how many Networks of a part it happens; 0 for all.
	most int
}

// phases returns what happens, in its order. Phases with the same name do the same.
func phases() []phase {
	all := []phase{{"fresh", (*seed).create, 1, 0}}
	for range passes {
		all = append(all, phase{"asked for, unchanged", (*seed).ask, parts, 0})
	}
	// Another change of the MTU waits until this one is through in the shoot, which is not there.
	all = append(all, phase{"changed", func(s *seed, namespace string) error { return s.change(namespace, mtu-40) }, parts, changed})
	return all
}

// part returns the Networks of a part to which the phase happens.
func (p phase) part(namespaces []string, part int) []string {
	these := namespaces[part*len(namespaces)/p.parts : (part+1)*len(namespaces)/p.parts]
	if p.most > 0 {
		return these[:min(p.most, len(these))]
	}
	return these
}

// record runs an operator for one Network, and returns the writes of each phase.
func (s *seed) record(count int) (of *extensionsv1alpha1.Network, recorded [][]write) {
	namespace := s.prepare("one", 1, count)[0]
	r := &recorder{namespace: namespace}
	kubeconfig := filepath.Join(s.tb.TempDir(), "kubeconfig")
	s.Expect(os.WriteFile(kubeconfig, front(s.tb, s.Cluster, r.handle, func(*httputil.ReverseProxy) {}), 0o600)).To(Succeed())
	o := start(s.tb, kubeconfig, "mode: Gardener\n")
	defer o.stop()
	for _, phase := range phases() {
		s.Expect(phase.do(s, namespace)).To(Succeed())
		s.await([]string{namespace})
		s.quiet(o)
		recorded = append(recorded, r.take())
	}
	of = exampleNetwork(namespace)
	s.Read(s.tb, of)
	return of, recorded
}

// quiet waits until the operator sends no more requests.
func (s *seed) quiet(o *operator) {
	s.tb.Helper()
	last := -1.0
	s.Eventually(func() bool {
		now, err := o.counters()
		all := now.requests(s.host()).all()
		same := all == last
		last = all
		return err == nil && same
	}).WithPolling(1500 * time.Millisecond).Should(BeTrue())
}

func (s *seed) host() string { return strings.TrimPrefix(s.Config.Host, "https://") }

// replay does what the operator did for the recorded Network again for each of these, with the raw
// client.
func (s *seed) replay(c *client, recorded *extensionsv1alpha1.Network, writes []write, p phase, namespaces []string) {
	s.each(namespaces, func(namespace string) error {
		if err := p.do(s, namespace); err != nil {
			return err
		}
		n := exampleNetwork(namespace)
		if err := s.Get(s.tb.Context(), crclient.ObjectKeyFromObject(n), n); err != nil {
			return err
		}
		of := &subject{strings.NewReplacer(recorded.Namespace, namespace, string(recorded.UID), string(n.UID)), n.ResourceVersion}
		for _, each := range writes {
			if err := c.send(s.tb.Context(), each, of); err != nil {
				return err
			}
		}
		return nil
	})
}

// comparison is what the operator and the raw client do to as many Networks, each in a seed of its own.
type comparison struct {
	operated, raw *seed
	namespaces    []string
	phases        []phase
	recorded      *extensionsv1alpha1.Network
	writes        [][]write // by phase
	rawClient     *client
	by, byRaw     machine
	taken         map[string]*taken // by the name of a phase
}

// taken is what phases of a name have taken.
type taken struct {
	rounds
	// networks is how many Networks each round was about, writes what the raw client sent for all.
	networks, writes int
	requests         counters
}

// compare prepares so many Networks for both, and starts the operator.
func compare(operated, raw *seed, count int) (*comparison, *operator) {
	recorded, writes := operated.record(count)
	c := &comparison{
		operated: operated, raw: raw, phases: phases(), recorded: recorded, writes: writes,
		rawClient: newClient(raw.tb, raw.Cluster), taken: map[string]*taken{},
	}
	c.namespaces = operated.prepare("all", count, count)
	raw.prepare("all", count, count)
	o := start(operated.tb, operated.box.Seed.Kubeconfig, "mode: Gardener\n")
	operated.quiet(o)
	c.by, c.byRaw = operated.machine(o.process), raw.machine(process(os.Getpid()))
	return c, o
}

// machine returns what is measured beside a process that uses the seed.
func (s *seed) machine(of process) machine {
	return machine{of, processes{apiServer(s.tb, s.box, s.box.Seed.Server)}, component(s.tb, s.box, "etcd", "")}
}

// requests returns how many requests the operator has sent.
func (c *comparison) requests(o *operator) counters {
	all, err := o.counters()
	c.operated.Expect(err).NotTo(HaveOccurred())
	return all.requests(c.operated.host())
}

// measure lets a phase happen. The raw client does a half of each part before the operator does all of it, and the other half
// afterwards.
func (c *comparison) measure(o *operator, index int) {
	p, t := c.phases[index], c.taken[c.phases[index].name]
	var profiled sync.WaitGroup
	if t == nil {
		t = &taken{}
		c.taken[p.name] = t
		profiled.Go(func() {
			o.profile(c.operated.tb, "cpu-"+strings.Trim(strings.Fields(p.name)[0], ","), "profile?seconds=20")
		})
	}
	byRaw := func(namespaces []string) usage {
		return c.byRaw.measure(func() { c.raw.replay(c.rawClient, c.recorded, c.writes[index], p, namespaces) })
	}
	for part := range p.parts {
		these := p.part(c.namespaces, part)
		first := byRaw(these[:len(these)/2])
		before := c.requests(o)
		used := c.by.measure(func() {
			c.operated.each(these, func(namespace string) error { return p.do(c.operated, namespace) })
			c.operated.await(these)
		})
		c.operated.quiet(o)
		t.requests = t.requests.plus(c.requests(o).since(before))
		t.rounds = append(t.rounds, round{used, first.plus(byRaw(these[len(these)/2:]))})
		t.networks, t.writes = len(these), t.writes+len(these)*len(c.writes[index])
	}
	profiled.Wait()
}

// print prints a row for the phases of each name.
func (c *comparison) print(t table) {
	for i, p := range c.phases {
		if i > 0 && c.phases[i-1].name == p.name {
			continue
		}
		of := c.taken[p.name]
		n := of.networks
		t.row(p.name, fmt.Sprintf("%d × %d", len(of.rounds), n), seconds(of.median(wall, 1)), of.times(wall), ms(of.median(operatorCPU, n)), ms(of.median(apiServerCPU, n)),
			of.times(apiServerCPU), ms(of.median(etcdCPU, n)), of.times(etcdCPU), of.requests.per(n*len(of.rounds)), times(of.requests.all(), float64(of.writes)),
			fmt.Sprint(of.requests["409"]))
	}
}

// BenchmarkNetworks prints what Networks cost in a seed of Gardener. The raw client works by turns with the operator, and
// what takes a few seconds is measured in many rounds: the speed of a machine with others on it changes meanwhile.
func BenchmarkNetworks(b *testing.B) {
	for _, count := range numbers(b, *networkCounts) {
		operated, raw := newSeed(b, forNetworks), newSeed(b, forRawNetworks)
		stop, stopRaw := operated.applies(), raw.applies()
		c, o := compare(operated, raw, count)
		small, _ := o.memory()
		before := o.collected(b)[liveHeap]
		for index := range c.phases {
			c.measure(o, index)
		}
		sent := c.requests(o)
		idle := c.by.measure(func() { <-time.After(*idleTime) })
		idleRequests := c.requests(o).since(sent)
		large, peak := o.memory()
		heap := (o.collected(b)[liveHeap] - before) / 1024
		o.profile(b, "heap", "heap?gc=1")
		o.stop()
		t := newTable(fmt.Sprintf("%d Networks, rounds × Networks; wall and CPU are medians of the rounds, and times is how many times as much as by the raw client", count),
			"", "rounds", "wall", "times", "operator CPU", "API server CPU", "times", "etcd CPU", "times", "requests", "times", "conflicts")
		c.print(t)
		t.row("idle", "", seconds(idle.wall), "", ms(idle.operator)+" in all", ms(idle.apiServer)+" in all", "", ms(idle.etcd)+" in all", "",
			idleRequests.per(1)+" in all", "", "")
		operated.Expect(t.Flush()).To(Succeed())
		fmt.Printf("memory: %.0f MiB without Networks, %.0f MiB with %d, %.0f MiB at most; %.1f KiB of live heap for each\n", small, large, count, peak, heap/float64(count))
		stop()
		stopRaw()
		if b.Failed() {
			return
		}
	}
	b.ReportMetric(0, "ns/op")
}
