// SPDX-License-Identifier: Apache-2.0

package fairness

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/shoot"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/test/harness"
)

const (
	// comeAndGo is how many clusters come and go, in waves. Of each wave as many go in each way.
	comeAndGo, waves = 200, 2
	// staying is how many clusters stay.
	staying = 2
	// few is less than any way of going leaves if it leaves one thing for each cluster. The
	// tests' servers, and outcomes of runs that are counted for the first time, leave some.
	few = comeAndGo / 4 / 2
	// watchful is for how long the test looks whether something is done for clusters that have gone.
	watchful = 15 * time.Second
)

// watches is how many the operator has in each cluster at least, each with a connection of its own
// through a gate: networkstatus watches what a bundle has, and so does the resource manager of
// Trellis.
var watches = map[configv1alpha1.Mode]int{configv1alpha1.ModeGardener: 2, configv1alpha1.ModeStandalone: 4}

// departure is a way in which clusters go. begin lets one go. end returns once the operator has
// heard of it, and need not have anything of the cluster any longer, or may have it until no
// controller has asked for it in ten minutes.
type departure struct {
	name       string
	begin, end func(l *fleet, i int)
}

// departures are the ways in each mode.
var departures = map[configv1alpha1.Mode][]departure{
	configv1alpha1.ModeGardener: {
		{"deleted", (*fleet).deleteNetwork, func(l *fleet, i int) { l.isGone(i); l.deleteControlPlane(i) }},
		{"migrated", (*fleet).migrate, func(l *fleet, i int) { l.hasMigrated(i); l.deleteControlPlane(i) }},
		{"hibernated", (*fleet).hibernate, nothing},
		{"not asked for, since only the Secret is left", (*fleet).deleteNetwork, (*fleet).isGone},
	},
	configv1alpha1.ModeStandalone: {
		{"deleted", (*fleet).deleteNetwork, func(l *fleet, i int) { l.isGone(i); l.deleteControlPlane(i) }},
		{"migrated", (*fleet).migrate, (*fleet).hasMigrated},
		{"hibernated", (*fleet).hibernate, nothing},
		{"not asked for, since another operator has it", (*fleet).handOver, nothing},
	},
}

func nothing(*fleet, int) {}

// A cluster that has gone has no connections, watches, goroutines, log lines or metric series
// left in the operator, in either mode and in whatever way it has gone.
func TestTwoHundredClustersComeAndGoAndLeaveNothing(t *testing.T) {
	if !*allWays {
		t.Skip("this takes minutes; make robustness runs it")
	}
	box := crowded.Get(t)
	modes := []configv1alpha1.Mode{configv1alpha1.ModeGardener, configv1alpha1.ModeStandalone}
	l := newFleet(t, len(modes)*clustersOfAMode, box.Seed.Kubeconfig, box.Shoots[0].Kubeconfig)
	l.round = 1 // networks are complete
	for i, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			in := *l
			in.WithT, in.ctx = NewWithT(t), t.Context()
			in.comeAndGo(t, mode, i*clustersOfAMode)
		})
	}
}

// clustersOfAMode are those that stay, one that goes in each way first, and all others.
const clustersOfAMode = staying + 4 + comeAndGo

// comeAndGo lets clusters from the first one on come and go in a mode.
func (l *fleet) comeAndGo(t *testing.T, mode configv1alpha1.Mode, first int) {
	l.SetDefaultEventuallyTimeout(patience)
	l.SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	now := &ahead{}
	stop := l.operate(t, mode, now)
	if mode == configv1alpha1.ModeGardener {
		ctx, cancel := context.WithCancel(l.ctx)
		defer cancel()
		go l.manageResources(ctx)
	}
	l.come(first, first+staying)
	next := first + staying
	// What is counted for the first time stays: series of metrics, for example.
	l.comeAndLeave(departures[mode], next, 1, now)
	next += len(departures[mode])
	l.ask(mode, first, first+staying)
	before := count(l)
	for range waves {
		each := comeAndGo / waves / len(departures[mode])
		l.comeAndLeave(departures[mode], next, each, now)
		next += each * len(departures[mode])
	}
	l.Expect(next).To(Equal(first + clustersOfAMode))

	l.ask(mode, first, first+staying)
	gone := l.gates[first+staying : next]
	var connections []int32
	for _, gate := range gone {
		connections = append(connections, gate.connections.Load())
		gate.become(tooMany)
	}
	lines := written.counts(next)[first+staying:]
	l.Consistently(func(g Gomega) {
		g.Expect(written.counts(next)[first+staying:]).To(Equal(lines), "log lines about clusters that have gone")
		for i, gate := range gone {
			g.Expect(gate.connections.Load()).To(Equal(connections[i]), "connections to a cluster that has gone")
		}
	}).WithTimeout(watchful).WithPolling(time.Second).Should(Succeed())
	l.Eventually(func(g Gomega) {
		after := count(l)
		g.Expect(after.goroutines).To(BeNumerically("<", before.goroutines+few))
		g.Expect(after.series).To(BeNumerically("<", before.series+few))
		g.Expect(after.known).To(BeNumerically("==", staying), "clusters in the metric trellis_shoots")
	}).Should(Succeed(), stacks)
	after := count(l)
	t.Logf("%d clusters: goroutines %d before, %d after; time series %d before, %d after; MiB in use %.1f before, %.1f after",
		comeAndGo, before.goroutines, after.goroutines, before.series, after.series, before.heap, after.heap)
	if mode == configv1alpha1.ModeGardener { // the other mode must not find them
		for i := first; i < next; i++ {
			l.Expect(client.IgnoreNotFound(l.seed.Delete(l.ctx, l.named(i)))).To(Succeed())
		}
		for i := first; i < next; i++ {
			l.isGone(i)
		}
	}
	stop()
}

// comeAndLeave lets as many clusters as stated come and go in each way, from the given one on,
// and waits until none of them has a connection.
func (l *fleet) comeAndLeave(ways []departure, first, each int, now *ahead) {
	end := first + each*len(ways)
	l.come(first, end)
	for i := first; i < end; i++ {
		ways[i%len(ways)].begin(l, i)
	}
	for i := first; i < end; i++ {
		ways[i%len(ways)].end(l, i)
	}
	now.skip(10 * time.Minute)
	for i := first; i < end; i++ {
		l.Eventually(l.gates[i].open.Load).Should(BeZero(), "connections to cluster %d, which is %s", i, ways[i%len(ways)].name)
	}
}

// ask makes all controllers of a mode observe clusters that stay, and open those for which no
// controller has asked since the clock was put forward.
func (l *fleet) ask(mode configv1alpha1.Mode, first, end int) {
	for i := first; i < end; i++ {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"asked":%q}}}`, time.Now().Format(time.RFC3339Nano))
		l.Expect(l.seed.Patch(l.ctx, l.named(i), client.RawPatch(types.MergePatchType, patch))).To(Succeed())
		if mode == configv1alpha1.ModeStandalone {
			patch = fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, extensionsv1alpha1.OperationAnnotation, extensionsv1alpha1.OperationReconcile)
			list := &resourcesv1alpha1.ManagedResourceList{}
			l.Expect(l.seed.List(l.ctx, list, client.InNamespace(name(i)))).To(Succeed())
			for j := range list.Items {
				l.Expect(l.seed.Patch(l.ctx, &list.Items[j], client.RawPatch(types.MergePatchType, patch))).To(Succeed())
			}
		}
	}
	for i := first; i < end; i++ {
		l.Eventually(l.gates[i].open.Load).Should(BeNumerically(">=", watches[mode]), "connections to cluster %d, which stays", i)
	}
}

// come creates the Networks of clusters, and waits until the operator has written them, and
// watches the clusters.
func (l *fleet) come(first, end int) {
	for i := first; i < end; i++ {
		n := l.named(i)
		n.Annotations = map[string]string{extensionsv1alpha1.OperationAnnotation: extensionsv1alpha1.OperationReconcile}
		n.Spec = extensionsv1alpha1.NetworkSpec{
			Type: "example", ProviderConfig: &kruntime.RawExtension{Raw: l.config()},
			PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16",
		}
		l.Expect(l.seed.Create(l.ctx, n)).To(Succeed())
	}
	for i := first; i < end; i++ {
		l.Eventually(func(g Gomega) {
			n := l.named(i)
			g.Expect(l.seed.Get(l.ctx, client.ObjectKeyFromObject(n), n)).To(Succeed())
			g.Expect(n.Status.LastOperation).To(HaveField("State", corev1beta1.LastOperationStateSucceeded))
			g.Expect(n.Status.Conditions).NotTo(BeEmpty())
			g.Expect(l.gates[i].open.Load()).To(BeNumerically(">", 0))
		}).Should(Succeed(), "cluster %d", i)
	}
}

func (l *fleet) named(i int) *extensionsv1alpha1.Network {
	return &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: name(i)}}
}

func (l *fleet) isGone(i int) {
	l.Eventually(func() error { return l.seed.Get(l.ctx, client.ObjectKeyFromObject(l.named(i)), l.named(i)) }).
		Should(MatchError(ContainSubstring("not found")), "the Network of cluster %d", i)
}

func (l *fleet) deleteNetwork(i int) { l.Expect(l.seed.Delete(l.ctx, l.named(i))).To(Succeed()) }

// deleteControlPlane deletes what the operator knows of a control plane without a Network.
func (l *fleet) deleteControlPlane(i int) {
	l.Expect(l.seed.Delete(l.ctx, &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name(i)}})).To(Succeed())
	l.Expect(l.seed.Delete(l.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: shootclient.SecretName, Namespace: name(i)}})).To(Succeed())
}

// migrate leaves a cluster to another seed.
func (l *fleet) migrate(i int) { l.annotate(i, extensionsv1alpha1.OperationMigrate) }

func (l *fleet) hasMigrated(i int) {
	l.Eventually(func(g Gomega) {
		n := l.named(i)
		err := l.seed.Get(l.ctx, client.ObjectKeyFromObject(n), n)
		g.Expect(client.IgnoreNotFound(err)).To(Succeed())
		if err == nil {
			g.Expect(n.Annotations).NotTo(HaveKey(extensionsv1alpha1.OperationAnnotation))
			g.Expect(n.Status.LastOperation).To(And(HaveField("Type", corev1beta1.LastOperationTypeMigrate), HaveField("State", corev1beta1.LastOperationStateSucceeded)))
		}
	}).Should(Succeed(), "the migration of cluster %d", i)
}

func (l *fleet) annotate(i int, operation string) {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, extensionsv1alpha1.OperationAnnotation, operation)
	l.Expect(l.seed.Patch(l.ctx, l.named(i), client.RawPatch(types.MergePatchType, patch))).To(Succeed())
}

func (l *fleet) hibernate(i int) {
	const shoot = `{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Shoot","spec":{"hibernation":{"enabled":true}}}`
	cluster := &extensionsv1alpha1.Cluster{}
	l.Expect(l.seed.Get(l.ctx, client.ObjectKey{Name: name(i)}, cluster)).To(Succeed())
	cluster.Spec.Shoot = kruntime.RawExtension{Raw: []byte(shoot)}
	l.Expect(l.seed.Update(l.ctx, cluster)).To(Succeed())
}

// handOver leaves a control plane to another operator, which is about to take it over.
func (l *fleet) handOver(i int) {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"another"}}}`, shoot.OperatorLabel)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name(i)}}
	l.Expect(l.seed.Patch(l.ctx, namespace, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
	l.annotate(i, extensionsv1alpha1.OperationWaitForState)
}

// manageResources reports that all ManagedResources are applied, as Gardener's resource
// manager does.
func (l *fleet) manageResources(ctx context.Context) {
	for next := time.NewTicker(200 * time.Millisecond); ; {
		list := &resourcesv1alpha1.ManagedResourceList{}
		_ = l.seed.List(ctx, list) // again in a moment
		for i := range list.Items {
			mr := &list.Items[i]
			if mr.Status.ObservedGeneration != mr.Generation {
				before := mr.DeepCopy()
				harness.Applied(mr)
				_ = l.seed.Status().Patch(ctx, mr, client.MergeFrom(before))
			}
		}
		select {
		case <-ctx.Done():
			next.Stop()
			return
		case <-next.C:
		}
	}
}

// ahead is a clock that can be put forward. It ticks like the real one.
type ahead struct {
	clock.RealClock
	by atomic.Int64
}

func (a *ahead) skip(by time.Duration) { a.by.Add(int64(by)) }

// Now implements clock.PassiveClock.
func (a *ahead) Now() time.Time { return time.Now().Add(time.Duration(a.by.Load())) }

// Since implements clock.PassiveClock.
func (a *ahead) Since(t time.Time) time.Duration { return a.Now().Sub(t) }

// stacks are those that no few goroutines have, with their number.
func stacks() string {
	profile := &bytes.Buffer{}
	_ = pprof.Lookup("goroutine").WriteTo(profile, 1)
	var most []string
	for stack := range strings.SplitSeq(profile.String(), "\n\n") {
		var number int
		if _, err := fmt.Sscanf(stack, "%d @", &number); err == nil && number >= few {
			most = append(most, stack)
		}
	}
	return strings.Join(most, "\n\n")
}

// counted is what there is in the process: goroutines, time series and MiB in use. known is how
// many clusters the metric of shoots has.
type counted struct {
	goroutines, series int
	known, heap        float64
}

func count(l *fleet) counted {
	families, err := ctrlmetrics.Registry.Gather()
	l.Expect(err).NotTo(HaveOccurred())
	c := counted{goroutines: runtime.NumGoroutine(), heap: inUse()}
	for _, family := range families {
		c.series += len(family.Metric)
		for _, metric := range family.Metric {
			if strings.HasPrefix(family.GetName(), "trellis_shoots") {
				c.known += metric.GetGauge().GetValue()
			}
		}
	}
	return c
}
