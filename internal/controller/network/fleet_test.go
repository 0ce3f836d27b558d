// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/internal/wave"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/exampleplugin"
	"github.com/trellis-network/trellis/test/harness"
)

// releasedPlugin is the example as a release has it, with a type that only one test has. Its default, which
// no config states, is that of the release.
type releasedPlugin struct {
	examplePlugin
	networkType, release string
}

func (p releasedPlugin) Describe() plugin.Description {
	description := p.Example.Describe()
	description.Type = p.networkType
	return description
}

func (p releasedPlugin) Render(effective *exampleConfig, facts *plugin.Input) (plugin.Objects, error) {
	content := effective.Backend + " of release " + p.release
	if facts.APIServer.ExternalHost != "" {
		content += " with " + facts.APIServer.ExternalHost
	}
	return plugin.NewObjects(
		[]plugin.Component{{Name: "agent", Kind: "DaemonSet", Namespace: "kube-system", Workload: "agent"}},
		plugin.NetworkBundle("example-config", []plugin.Object{exampleplugin.ConfigMap("kube-system", "example", content)})), nil
}

func release(t *testing.T, networkType, name string) *pipeline.Pipeline {
	t.Helper()
	built, err := pipeline.New([]plugin.Plugin{plugin.New(releasedPlugin{networkType: networkType, release: name})}, nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return built
}

// fleet are Networks of one type, each with a control plane of its own, and all with one operator. The
// test plays the resource manager and the health checks.
type fleet struct {
	*WithT
	t     *testing.T
	seed  *harness.Cluster
	label client.MatchingLabels
	// breaks are the namespaces whose networks the second release breaks: true if it cannot be
	// applied, false if pods do not reach each other any more.
	breaks map[string]bool

	lock   sync.Mutex
	policy wave.Policy
	// most is how many were Progressing at once.
	most int
}

const (
	fleetSize  = 300
	fleetType  = "fleet"
	fleetLabel = "example.trellis.network/fleet"
	canary     = "example.trellis.network/canary"
)

// newFleet creates the Networks, of which every hundredth is a canary.
func newFleet(t *testing.T) *fleet {
	f := &fleet{WithT: NewWithT(t), t: t, seed: landscape.Seed(t), label: client.MatchingLabels{fleetLabel: fleetType}, breaks: map[string]bool{}}
	numbers, workers := make(chan int), sync.WaitGroup{}
	for range 8 {
		workers.Go(func() {
			for i := range numbers {
				namespace := f.seed.Namespace(t, fmt.Sprintf("shoot--fleet%03d--", i))
				f.seed.PutShoot(t, namespace, &corev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: "garden-test"}})
				n := &extensionsv1alpha1.Network{
					ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: namespace, Labels: maps.Clone(f.label)},
					Spec:       extensionsv1alpha1.NetworkSpec{Type: fleetType, PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16"},
				}
				if i%100 == 50 {
					n.Labels[canary] = "true"
				}
				if err := f.seed.Create(t.Context(), n); err != nil {
					t.Error(err)
				}
				if i%50 == 7 {
					f.lock.Lock()
					f.breaks[namespace] = i%100 == 7
					f.lock.Unlock()
				}
			}
		})
	}
	for i := range fleetSize {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
	return f
}

// operator runs a release of the operator.
func (f *fleet) operator(name string) (stop func()) {
	options := network.Options{
		Pipeline: release(f.t, fleetType, name), Trigger: network.TriggerGeneration, MaxConcurrentReconciles: 5, Clock: clock.RealClock{},
		Shoots: shootclient.New(shootclient.Options{Metadata: f.seed, Secrets: f.seed}),
	}
	policy := f.policy
	policy.Revision = name
	options.Rollout = &policy
	return f.seed.Run(f.t, nil, nil, func(mgr manager.Manager) error { return network.Add(mgr, options) })
}

// networks lists all at one moment.
func (f *fleet) networks() []extensionsv1alpha1.Network {
	f.t.Helper()
	list := &extensionsv1alpha1.NetworkList{}
	f.Expect(f.seed.List(context.Background(), list, f.label)).To(Succeed())
	return list.Items
}

// phases counts the Networks in each phase of a release, and checks what must hold at every moment.
func (f *fleet) phases(name string) map[wave.Phase]int {
	f.t.Helper()
	count := map[wave.Phase]int{}
	canariesLeft, othersBegun := 0, 0
	for _, n := range f.networks() {
		kept, err := state.Decode(n.Status.State)
		f.Expect(err).NotTo(HaveOccurred())
		phase := wave.Phase("")
		if kept.Rollout != nil && kept.Rollout.Revision == name {
			phase = kept.Rollout.Phase
		}
		count[phase]++
		isNew := phase == wave.Progressing || phase == wave.Succeeded || phase == wave.Failed
		switch {
		case n.Labels[canary] == "" && isNew:
			othersBegun++
		case n.Labels[canary] != "" && phase != wave.Succeeded:
			canariesLeft++
		}
	}
	f.Expect(canariesLeft > 0 && othersBegun > 0).To(BeFalse(), "canaries come first: %d left, %d others", canariesLeft, othersBegun)
	f.most = max(f.most, count[wave.Progressing])
	return count
}

// others play the resource manager and the health checks, until the test ends.
func (f *fleet) others() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := f.act(ctx); err != nil && ctx.Err() == nil {
				f.t.Log("what others do is repeated: ", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	f.t.Cleanup(func() { cancel(); <-done })
}

func (f *fleet) act(ctx context.Context) error {
	list := &extensionsv1alpha1.NetworkList{}
	if err := f.seed.List(ctx, list, f.label); err != nil {
		return err
	}
	all := &resourcesv1alpha1.ManagedResourceList{}
	if err := f.seed.List(ctx, all); err != nil {
		return err
	}
	managed := map[string]*resourcesv1alpha1.ManagedResource{}
	for i := range all.Items {
		managed[all.Items[i].Namespace] = &all.Items[i]
	}
	for i := range list.Items {
		n := &list.Items[i]
		mr := managed[n.Namespace]
		if mr == nil {
			continue
		}
		content, err := f.content(ctx, mr)
		if err != nil {
			return err
		}
		unapplied, broken := f.breaks[n.Namespace]
		broken = broken && strings.HasSuffix(content, "of release two")
		if err := f.actOn(ctx, n, mr, broken && unapplied, broken && !unapplied); err != nil {
			return err
		}
	}
	return nil
}

func (f *fleet) actOn(ctx context.Context, n *extensionsv1alpha1.Network, mr *resourcesv1alpha1.ManagedResource, unapplied, silent bool) error {
	if bundle.AppliedCondition(mr).Status == "" || mr.Status.ObservedGeneration != mr.Generation {
		before := mr.DeepCopy()
		harness.Applied(mr)
		if unapplied {
			is := &mr.Status.Conditions[0]
			is.Status, is.Reason, is.Message = corev1beta1.ConditionFalse, "ApplyFailed", "the ConfigMap is invalid"
			is.Codes = []corev1beta1.ErrorCode{corev1beta1.ErrorConfigurationProblem}
		}
		if err := f.seed.Status().Patch(ctx, mr, client.MergeFrom(before)); err != nil {
			return err
		}
	}
	before, status := n.DeepCopy(), corev1beta1.ConditionTrue
	if silent {
		status = corev1beta1.ConditionFalse
	}
	conditions, _ := condition.Set(n.Status.Conditions, corev1beta1.Condition{Type: "SystemComponentsHealthy", Status: corev1beta1.ConditionTrue, Reason: "Fine", Message: "fine"}, time.Now())
	conditions, changed := condition.Set(conditions, corev1beta1.Condition{Type: extensionsv1alpha1.PodNetworkAvailable, Status: status, Reason: "Tested", Message: "tested"}, time.Now())
	if !changed {
		return nil
	}
	n.Status.Conditions = conditions
	return f.seed.Status().Patch(ctx, n, client.MergeFrom(before))
}

// content is what the network consists of.
func (f *fleet) content(ctx context.Context, mr *resourcesv1alpha1.ManagedResource) (string, error) {
	objects, err := bundle.Read(ctx, f.seed, mr)
	if err != nil || len(objects) == 0 {
		return "", err
	}
	data, _ := objects[0].Object["data"].(map[string]any)
	content, _ := data["content"].(string)
	return content, nil
}

func (f *fleet) contentOf(n *extensionsv1alpha1.Network) string {
	f.t.Helper()
	mr := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Name: "example-config", Namespace: n.Namespace}}
	f.seed.Read(f.t, mr)
	content, err := f.content(f.t.Context(), mr)
	f.Expect(err).NotTo(HaveOccurred())
	return content
}

// in returns the Networks in a phase of a release, by their namespaces.
func (f *fleet) in(name string, phase wave.Phase) (found []*extensionsv1alpha1.Network) {
	f.t.Helper()
	for _, n := range f.networks() {
		if kept, _ := state.Decode(n.Status.State); kept.Rollout.IsOf(name, phase) {
			found = append(found, &n)
		}
	}
	slices.SortFunc(found, func(a, b *extensionsv1alpha1.Network) int { return cmp.Compare(a.Namespace, b.Namespace) })
	return found
}

func annotated(name, value string) func(*extensionsv1alpha1.Network) {
	return func(n *extensionsv1alpha1.Network) { metav1.SetMetaDataAnnotation(&n.ObjectMeta, name, value) }
}

// Three hundred Networks get a release with a changed default, which breaks one in fifty.
func TestARolloutOverThreeHundredNetworksHaltsAndGoesOn(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.policy = wave.Policy{
		MaxConcurrency: intstr.FromString("10%"), MaxFailures: intstr.FromString("1%"),
		MinSuccessTime: time.Second, ProgressDeadline: 5 * time.Minute, CanaryLabels: map[string]string{canary: "true"},
	}
	f.others()
	began := time.Now()
	stop := f.operator("one")
	f.Eventually(func(g Gomega) {
		for _, n := range f.networks() {
			g.Expect(n.HasSucceeded() && len(n.Status.Conditions) == 2).To(BeTrue())
		}
	}).WithPolling(time.Second).Should(Succeed())
	stop()
	t.Logf("the first release is everywhere after %s", time.Since(began).Round(time.Second))

	began = time.Now()
	stop = f.operator("two")
	f.Eventually(func(g Gomega) {
		count := f.phases("two")
		g.Expect(count[wave.Failed]).To(BeNumerically(">", 3))
		g.Expect(count[wave.Progressing]).To(BeZero())
	}).Should(Succeed())
	halted := f.phases("two")
	t.Logf("the second release halts after %s: %v; at most %d at once", time.Since(began).Round(time.Second), halted, f.most)
	f.Expect(halted[wave.Pending]).To(BeNumerically(">", 30), "the others keep the first")
	f.Eventually(func(g Gomega) {
		for _, n := range f.in("two", wave.Pending) {
			kept, _ := state.Decode(n.Status.State)
			g.Expect(kept.Rollout.Reason).To(Equal(wave.RolloutHalted))
			g.Expect(kept.Rollout.Message).To(ContainSubstring("the update failed in shoot--fleet"))
			g.Expect(n.HasSucceeded()).To(BeTrue())
		}
	}).Should(Succeed(), "each says why it waits")

	f.Expect(harness.Metrics(t, "phase", "pending")).To(HaveKeyWithValue(`trellis_rollout_networks{phase="pending"}`, BeNumerically(">=", halted[wave.Pending])))

	stop()
	stop = f.operator("two")
	f.Consistently(func() map[wave.Phase]int { return f.phases("two") }).WithTimeout(3*time.Second).Should(Equal(halted), "a restart forgets nothing")

	waiting := f.in("two", wave.Pending)
	changed, urgent, paused := waiting[0], waiting[1], waiting[len(waiting)-1]
	f.Expect(f.contentOf(changed)).To(Equal("overlay of release one"))
	harness.Change(t, f.seed, changed, withConfig(`{"backend":"none"}`))
	harness.Change(t, f.seed, urgent, annotated(extensionsv1alpha1.RolloutAnnotation, extensionsv1alpha1.RolloutNow))
	harness.Change(t, f.seed, paused, annotated(extensionsv1alpha1.RolloutAnnotation, extensionsv1alpha1.RolloutPause))
	f.Eventually(func() string { return f.contentOf(changed) }).Should(Equal("none of release two"), "a user's change does not wait")
	f.Eventually(func() string { return f.contentOf(urgent) }).Should(Equal("overlay of release two"))
	f.Expect(len(f.in("two", wave.Pending))).To(Equal(len(waiting)-2), "nothing else is written")

	began = time.Now()
	harness.Change(t, f.seed, f.in("two", wave.Failed)[0], annotated(extensionsv1alpha1.RolloutResumedAtAnnotation, time.Now().UTC().Format(time.RFC3339)))
	f.Eventually(func() map[wave.Phase]int { return f.phases("two") }).WithTimeout(2 * harness.Patience).Should(Equal(
		map[wave.Phase]int{wave.Succeeded: fleetSize - 7, wave.Failed: 6, wave.Pending: 1}))
	t.Logf("the rest takes %s; at most %d at once", time.Since(began).Round(time.Second), f.most)
	f.Expect(f.contentOf(paused)).To(Equal("overlay of release one"))
	f.Expect(f.most).To(And(BeNumerically("<=", 30), BeNumerically(">", 10)))
	stop()
}
