// SPDX-License-Identifier: Apache-2.0

package exchange_test

import (
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/exchange"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/test/harness"
)

var landscape = harness.Seed()

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

// env is a cluster with one node, whose pods no kubelet runs.
type env struct {
	*WithT
	t         *testing.T
	cluster   *harness.Cluster
	namespace string
	node      *corev1.Node
	exchange.Cluster
}

func setup(t *testing.T) *env {
	t.Helper()
	seed := landscape.Seed(t)
	e := &env{WithT: NewWithT(t), t: t, cluster: seed, namespace: seed.Namespace(t, "exchange-")}
	e.node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}}
	e.Expect(seed.Create(t.Context(), e.node)).To(Succeed())
	t.Cleanup(func() { _ = seed.Delete(context.Background(), e.node) })
	core, err := corev1client.NewForConfig(seed.Config)
	e.Expect(err).NotTo(HaveOccurred())
	e.Cluster = exchange.Cluster{
		Client: seed, Evict: func(ctx context.Context, namespace, name string) error {
			return shootclient.Evict(ctx, core.RESTClient(), namespace, name)
		},
		Base: "old", Other: "new",
		Agents:  map[string][]types.NamespacedName{"old": {e.named("old-agents")}, "new": {e.named("new-agents")}},
		Cleaner: e.named("cleaner"),
	}
	return e
}

func (e *env) named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: e.namespace, Name: name}
}

// pod makes a pod on the node, of an owner such as DaemonSet/old-agents, or of none.
func (e *env) pod(name, kind, owner string, edits ...func(*corev1.Pod)) *corev1.Pod {
	e.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			NodeName: e.node.Name, Containers: []corev1.Container{{Name: "c", Image: "i"}}, AutomountServiceAccountToken: new(false),
			TerminationGracePeriodSeconds: new(int64(0)),
		},
	}
	if kind != "" { // the garbage collector does not know the group, and leaves the pod
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.org/v1", Kind: kind, Name: owner, UID: "1", Controller: new(true)}}
	}
	for _, edit := range edits {
		edit(pod)
	}
	e.Expect(e.cluster.Create(e.t.Context(), pod)).To(Succeed())
	return pod
}

func onHost(pod *corev1.Pod) { pod.Spec.HostNetwork = true }

// seen looks at the node.
func (e *env) seen() exchange.Node {
	e.t.Helper()
	nodes, err := e.Look(e.t.Context())
	e.Expect(err).NotTo(HaveOccurred())
	for _, each := range nodes {
		if each.Name == e.node.Name {
			return each
		}
	}
	e.t.Fatal("the node was not seen")
	return exchange.Node{}
}

func (e *env) does(action exchange.Action) (hindered string) {
	e.t.Helper()
	action.Node = e.node.Name
	hindered, err := e.Do(e.t.Context(), action, noon)
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(e.cluster.Get(e.t.Context(), client.ObjectKeyFromObject(e.node), e.node)).To(Succeed())
	return hindered
}

func TestWhatIsDoneWithANodeIsOnTheNode(t *testing.T) {
	e := setup(t)
	e.Expect(e.seen()).To(And(HaveField("Type", "old"), HaveField("Step", exchange.None)))
	e.does(exchange.Action{Step: exchange.Draining, Type: "old", Begin: true})
	e.Expect(e.node.Spec.Unschedulable).To(BeTrue())
	e.Expect(e.node.Annotations).To(HaveKeyWithValue(extensionsv1alpha1.ExchangeAnnotation, "Draining 2026-11-28T12:00:00Z"))
	e.Expect(e.node.Labels).NotTo(HaveKey(extensionsv1alpha1.TypeLabel))
	e.does(exchange.Action{Step: exchange.Cleaning, Type: extensionsv1alpha1.TypeNone})
	e.Expect(e.node.Labels).To(HaveKeyWithValue(extensionsv1alpha1.TypeLabel, "none"))
	e.Expect(e.seen()).To(And(HaveField("Type", "none"), HaveField("Step", exchange.Cleaning), HaveField("Since", noon)))
	e.does(exchange.Action{Step: exchange.Joining, Type: "new"})
	e.does(exchange.Action{Type: "new", Uncordon: true})
	e.Expect(e.node.Spec.Unschedulable).To(BeFalse())
	e.Expect(e.node.Annotations).NotTo(HaveKey(extensionsv1alpha1.ExchangeAnnotation))
	e.Expect(e.node.Labels).To(HaveKeyWithValue(extensionsv1alpha1.TypeLabel, "new"))
	e.Expect(e.seen()).To(And(HaveField("Type", "new"), HaveField("Step", exchange.None)))
}

func TestANodeThatAUserHasCordonedStaysSo(t *testing.T) {
	e := setup(t)
	e.Expect(e.cluster.Patch(t.Context(), e.node, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`)))).To(Succeed())
	e.does(exchange.Action{Step: exchange.Draining, Type: "old", Begin: true})
	e.does(exchange.Action{Step: exchange.Cleaning, Type: "none"})
	e.does(exchange.Action{Type: "new", Uncordon: true})
	e.Expect(e.node.Spec.Unschedulable).To(BeTrue())
}

// Whatever users write into the annotation, the node begins again, and is not taken for done.
func TestABrokenAnnotationIsNoStep(t *testing.T) {
	e := setup(t)
	for _, text := range []string{"", "Draining", "Sleeping 2026-11-28T12:00:00Z", "Draining yesterday", " "} {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+extensionsv1alpha1.ExchangeAnnotation+`":"`+text+`"}}}`))
		e.Expect(e.cluster.Patch(t.Context(), e.node, patch)).To(Succeed())
		e.Expect(e.seen()).To(And(HaveField("Type", "old"), HaveField("Step", exchange.None)), text)
	}
}

func TestPodsLeaveANodeThatIsDrained(t *testing.T) {
	e := setup(t)
	e.does(exchange.Action{Step: exchange.Draining, Type: "old", Begin: true})
	e.pod("agent", "DaemonSet", "old-agents", onHost)
	e.pod("probe", "DaemonSet", "probe")
	e.pod("proxy", "DaemonSet", "proxy", onHost)
	e.pod("hosted", "ReplicaSet", "hosted", onHost)
	e.pod("free", "ReplicaSet", "free")
	kept := e.pod("kept", "ReplicaSet", "kept")
	kept.Status.Phase = corev1.PodRunning // a pod that has not started yet may always be evicted
	e.Expect(e.cluster.Status().Update(t.Context(), kept)).To(Succeed())
	bare := e.pod("bare", "", "")
	e.Expect(e.cluster.Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "kept"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "kept"}},
		},
	})).To(Succeed())
	n := e.seen()
	e.Expect(n.Leaving).To(ConsistOf(exchange.Pod{Namespace: e.namespace, Name: "free"}, exchange.Pod{Namespace: e.namespace, Name: "kept"}))
	e.Expect(n.Stuck).To(ConsistOf(HavePrefix("the pod " + e.namespace + "/bare has no controller that would start it on another node: delete it")))
	e.Expect(n.Agents["old"]).To(Equal(exchange.Agents{Pods: 1, Wanted: 1}))

	hindered := e.does(exchange.Action{Step: exchange.Draining, Type: "old", Evict: n.Leaving, Waits: "pods leave it"})
	e.Expect(hindered).To(HavePrefix("the pod " + e.namespace + "/kept may not be evicted now: Cannot evict pod as it would violate the pod's disruption budget"))
	e.Expect(e.seen().Leaving).To(ConsistOf(exchange.Pod{Namespace: e.namespace, Name: "kept"}), "the budget is respected")
	e.Expect(e.cluster.Delete(t.Context(), kept)).To(Succeed())
	e.Expect(e.cluster.Delete(t.Context(), bare)).To(Succeed())
	e.Expect(e.seen()).To(And(HaveField("Leaving", BeEmpty()), HaveField("Stuck", BeEmpty())))
}

// They have interfaces of the former network.
func TestPodsOfDaemonSetsStartAgain(t *testing.T) {
	e := setup(t)
	probe := e.pod("probe", "DaemonSet", "probe")
	_, err := e.Do(t.Context(), exchange.Action{Node: e.node.Name, Step: exchange.Joining, Type: "new"}, time.Now().Add(time.Minute))
	e.Expect(err).NotTo(HaveOccurred())
	e.pod("proxy", "DaemonSet", "proxy", onHost)
	agent := e.pod("agent", "DaemonSet", "new-agents", onHost)
	agent.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	e.Expect(e.cluster.Status().Update(t.Context(), agent)).To(Succeed())
	n := e.seen()
	e.Expect(n.Agents["new"]).To(Equal(exchange.Agents{Pods: 1, Ready: 1, Wanted: 1}))
	e.Expect(n.Stale).To(ConsistOf(exchange.Pod{Namespace: e.namespace, Name: probe.Name}))
	e.does(exchange.Action{Step: exchange.Joining, Type: "new", Delete: n.Stale, Waits: "pods start again"})
	e.Expect(e.seen().Stale).To(BeEmpty())
	e.Expect(n.Talks).To(BeNil(), "there are no probes")
}

// A node that is dead, or at a step itself, must not keep others from being done, nor must what is outside of the
// cluster.
func TestTheProbeDecidesWhetherANodeIsDone(t *testing.T) {
	result := func(name string, failures int32) connectivityv1alpha1.Result {
		return connectivityv1alpha1.Result{Name: name, ConsecutiveFailures: failures}
	}
	check := func(of connectivityv1alpha1.CheckType, results ...connectivityv1alpha1.Result) connectivityv1alpha1.Check {
		return connectivityv1alpha1.Check{Type: of, Results: results}
	}
	missed := map[string]bool{"dead": true}
	for name, test := range map[string]struct {
		checks []connectivityv1alpha1.Check
		talks  bool
	}{
		"nothing is tested yet": {nil, false},
		"all is reached":        {[]connectivityv1alpha1.Check{check("pods", result("a", 0), result("b", 0)), check("dns", result("dns", 0))}, true},
		"a node is not":         {[]connectivityv1alpha1.Check{check("pods", result("a", 0), result("b", 1))}, false},
		"a dead node is not":    {[]connectivityv1alpha1.Check{check("pods", result("a", 0), result("dead", 3))}, true},
		"DNS is not":            {[]connectivityv1alpha1.Check{check("pods", result("a", 0)), check("dns", result("dns", 2))}, false},
		"the world is not":      {[]connectivityv1alpha1.Check{check("pods", result("a", 0)), check("outside", result("example.com", 9))}, true},
	} {
		report := &connectivityv1alpha1.Report{Checks: test.checks}
		NewWithT(t).Expect(exchange.Reaches(report, missed)).To(Equal(test.talks), name)
	}
}
