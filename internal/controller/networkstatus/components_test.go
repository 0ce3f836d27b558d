// SPDX-License-Identifier: Apache-2.0

package networkstatus_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/metrics"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/contract"
)

const (
	// often makes a controller notice the moved clock of its test.
	often = 200 * time.Millisecond
	// never leaves it to events.
	never = time.Hour
)

func TestHealthyComponentsAreTrue(t *testing.T) {
	contract.Shows(t, "H1")
	e := setup(t, never)
	e.daemonSet("agent", plain)
	e.deployment("controller", plain)
	n := e.network(e.component("agent", "DaemonSet", "agent"), e.component("controller", "Deployment", "controller"))
	condition := e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful", "agent (2 of 2 pods)", "controller (1 of 1 pods)")
	e.Expect(condition.LastTransitionTime.UTC()).To(Equal(noon))
	e.Expect(condition.LastUpdateTime.UTC()).To(Equal(noon))
	e.Expect(providerStatus(n)).To(MatchJSON(`{"components":{"agent":true,"controller":true}}`))
}

// On no nodes there is nothing to be wrong.
func TestADaemonSetWithoutNodesIsHealthy(t *testing.T) {
	e := setup(t, never)
	e.daemonSet("agent", func(p *corev1.PodSpec) { p.NodeSelector = map[string]string{"no": "where"} })
	n := e.network(e.component("agent", "DaemonSet", "agent"))
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful", "agent (no nodes)")
}

// isUnschedulable reports whether the shoot's control plane has found that the pods of a
// Deployment fit no node.
func (e *env) isUnschedulable(d *appsv1.Deployment) bool {
	e.t.Helper()
	e.shoot.Read(e.t, d)
	pods := &corev1.PodList{}
	e.Expect(e.shoot.List(e.t.Context(), pods, client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels))).To(Succeed())
	return d.Status.UnavailableReplicas > 0 && len(pods.Items) > 0 && slices.ContainsFunc(pods.Items[0].Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
	})
}

// For five minutes it may be a rollout; after that it is a failure.
func TestAnUnhealthyNetworkProgressesAndThenFails(t *testing.T) {
	contract.Shows(t, "H1")
	e := setup(t, often)
	d := e.deployment("controller", func(p *corev1.PodSpec) { p.NodeSelector = map[string]string{"no": "where"} })
	e.Eventually(func() bool { return e.isUnschedulable(d) }).Should(BeTrue(), "a message that is new does not change while the clock stands still")
	n := e.network(e.component("controller", "Deployment", "controller"))
	e.becomes(n, corev1beta1.ConditionProgressing, "HealthCheckProgressing",
		"controller: 0 of 1 pods of the Deployment kube-system/"+d.Name+" are available", "cannot be scheduled")
	e.Expect(providerStatus(n)).To(MatchJSON(`{"components":{"controller":false}}`))

	e.clock.SetTime(noon.Add(5*time.Minute - time.Second))
	e.stays(n)
	e.clock.SetTime(noon.Add(5 * time.Minute))
	condition := e.becomes(n, corev1beta1.ConditionFalse, "HealthCheckUnsuccessful", "cannot be scheduled")
	e.Expect(condition.LastTransitionTime.UTC()).To(Equal(noon.Add(5 * time.Minute)))

	before := d.DeepCopy()
	d.Spec.Template.Spec.NodeSelector = nil
	e.Expect(e.shoot.Patch(t.Context(), d, client.MergeFrom(before))).To(Succeed())
	e.clock.SetTime(noon.Add(10 * time.Minute))
	condition = e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
	e.Expect(condition.LastTransitionTime.UTC()).To(Equal(noon.Add(10 * time.Minute)))
	e.Expect(providerStatus(n)).To(MatchJSON(`{"components":{"controller":true}}`))
}

// A DaemonSet without pods says nothing; the event of its controller does.
func TestRefusedPodsAreExplained(t *testing.T) {
	e := setup(t, often)
	e.daemonSet("agent", func(p *corev1.PodSpec) { p.PriorityClassName = "missing" })
	n := e.network(e.component("agent", "DaemonSet", "agent"))
	e.Eventually(func() string {
		e.clock.SetTime(e.clock.Now().Add(11 * time.Second)) // a message alone changes only so often
		return e.becomes(n, corev1beta1.ConditionProgressing, "HealthCheckProgressing").Message
	}).Should(And(HavePrefix("agent: 0 of 2 pods"), ContainSubstring("pods cannot be created"), ContainSubstring("PriorityClass")))
	e.clock.SetTime(time.Now().Add(11 * time.Minute))
	e.Eventually(func() string {
		e.clock.SetTime(e.clock.Now().Add(11 * time.Second))
		return e.becomes(n, corev1beta1.ConditionFalse, "HealthCheckUnsuccessful").Message
	}).Should(MatchRegexp("no progress for more than 10 minutes because of nodes [^ ,]+, [^ ,]+; pods cannot be created"))
}

// A crash says more than a node that is yet to come.
func TestTheWorstComponentIsExplained(t *testing.T) {
	e := setup(t, often)
	e.deployment("agent", func(p *corev1.PodSpec) { p.NodeSelector = map[string]string{"no": "where"} })
	e.daemonSet("controller", func(p *corev1.PodSpec) { p.PriorityClassName = "missing" })
	n := e.network(e.component("agent", "Deployment", "agent"), e.component("controller", "DaemonSet", "controller"))
	e.Eventually(func() string {
		e.clock.SetTime(e.clock.Now().Add(11 * time.Second)) // a message alone changes only so often
		return e.becomes(n, corev1beta1.ConditionProgressing, "HealthCheckProgressing").Message
	}).Should(And(HavePrefix("controller: 0 of 2 pods"), ContainSubstring("pods cannot be created"), HaveSuffix("; also unhealthy: agent")))
}

// Without waiting for the period.
func TestADeletedWorkloadIsNoticed(t *testing.T) {
	e := setup(t, never)
	d := e.daemonSet("agent", plain)
	e.deployment("controller", plain)
	n := e.network(e.component("agent", "DaemonSet", "agent"), e.component("controller", "Deployment", "controller"))
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
	e.Expect(e.shoot.Delete(t.Context(), d)).To(Succeed())
	e.becomes(n, corev1beta1.ConditionProgressing, "HealthCheckProgressing", "agent: the DaemonSet kube-system/"+d.Name+" does not exist")
	e.Expect(providerStatus(n)).To(MatchJSON(`{"components":{"agent":false,"controller":true}}`))
}

func TestAHibernatedClusterIsHealthy(t *testing.T) {
	contract.Shows(t, "H3")
	e := setup(t, never)
	sleep := func(enabled bool) {
		e.cluster(func(s *corev1beta1.Shoot) { s.Spec.Hibernation = &corev1beta1.Hibernation{Enabled: ptr.To(enabled)} })
	}
	sleep(true)
	n := e.network(e.component("agent", "DaemonSet", "agent"))
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful", "hibernated")
	e.Expect(providerStatus(n)).To(MatchJSON(`{}`))
	sleep(false)
	e.becomes(n, corev1beta1.ConditionProgressing, "HealthCheckProgressing", "does not exist")
	e.Expect(providerStatus(n)).To(MatchJSON(`{"components":{"agent":false}}`))
	awake, err := e.clients.For(t.Context(), e.namespace)
	e.Expect(err).NotTo(HaveOccurred())
	sleep(true)
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful", "hibernated")
	again, err := e.clients.For(t.Context(), e.namespace)
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(again).NotTo(BeIdenticalTo(awake), "the access to the shoot has ended, with its watches and connections")
	e.Expect(providerStatus(n)).NotTo(ContainSubstring("agent"), "what is not measured is absent")
}

func TestAnUnreachableShootIsUnknown(t *testing.T) {
	contract.Shows(t, "H1", "H5")
	const nowhere = `{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1"}}],
"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{"token":"t"}}]}`
	e := setup(t, never)
	e.daemonSet("agent", plain)
	n := e.network(e.component("agent", "DaemonSet", "agent"))
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
	e.access(nowhere)
	e.becomes(n, corev1beta1.ConditionUnknown, "ConditionCheckError", "127.0.0.1:1")
	e.Expect(providerStatus(n)).NotTo(ContainSubstring("agent"))
	e.clock.SetTime(noon.Add(time.Minute))
	e.access("no kubeconfig")
	e.becomes(n, corev1beta1.ConditionUnknown, "ConditionCheckError", "not a kubeconfig")
}

func TestANetworkWithoutComponentsIsNotReportedOn(t *testing.T) {
	e := setup(t, often)
	n := e.network()
	e.stays(n)
	e.Expect(n.Status.Conditions).To(BeEmpty())
	e.Expect(n.Status.ProviderStatus).To(BeNil())
}

// While its state is being written, a Network is left alone (Gardener contract, N8).
func TestANetworkThatIsBeingRestoredIsNotReportedOn(t *testing.T) {
	contract.Shows(t, "H2")
	e := setup(t, often)
	n := e.network()
	before := n.DeepCopy()
	n.Annotations = map[string]string{"gardener.cloud/operation": "wait-for-state"}
	e.Expect(e.seed.Patch(t.Context(), n, client.MergeFrom(before))).To(Succeed())
	e.keep(n, e.component("agent", "DaemonSet", "agent"))
	e.stays(n)
	e.Expect(n.Status.Conditions).To(BeEmpty())
}

// A Network whose control plane moves, or that is being deleted, is left alone.
func TestANetworkThatIsMigratedOrDeletedIsNotReportedOn(t *testing.T) {
	contract.Shows(t, "H2")
	e := setup(t, often)
	n := e.network()
	before := n.DeepCopy()
	n.Annotations = map[string]string{"gardener.cloud/operation": "migrate"}
	e.Expect(e.seed.Patch(t.Context(), n, client.MergeFrom(before))).To(Succeed())
	e.keep(n, e.component("agent", "DaemonSet", "agent"))
	e.stays(n)
	e.Expect(n.Status.Conditions).To(BeEmpty())

	before = n.DeepCopy()
	n.Annotations, n.Finalizers = nil, []string{"extensions.gardener.cloud/network"}
	e.Expect(e.seed.Patch(t.Context(), n, client.MergeFrom(before))).To(Succeed())
	e.becomes(n, corev1beta1.ConditionProgressing, "HealthCheckProgressing", "does not exist")
	e.Expect(e.seed.Delete(t.Context(), n)).To(Succeed())
	e.stays(n) // and the controller learns of the deletion
	e.daemonSet("agent", plain)
	e.clock.SetTime(noon.Add(time.Hour))
	e.stays(n)
	before = n.DeepCopy()
	n.Finalizers = nil
	e.Expect(e.seed.Patch(t.Context(), n, client.MergeFrom(before))).To(Succeed())
}

// A workload of a kind that cannot be checked is not called healthy.
func TestAnUnknownKindIsUnknown(t *testing.T) {
	e := setup(t, never)
	e.daemonSet("agent", plain)
	n := e.network(e.component("agent", "DaemonSet", "agent"), plugin.Component{Name: "odd", Kind: "StatefulSet", Namespace: "kube-system", Workload: "odd"})
	e.becomes(n, corev1beta1.ConditionUnknown, "ConditionCheckError", "odd: ", "StatefulSet kube-system/odd")
	e.Expect(providerStatus(n)).To(ContainSubstring("agent"))
	e.Expect(providerStatus(n)).NotTo(ContainSubstring("odd"))
}

// A DaemonSet whose new pods do not get on is named with the nodes that they are for,
// once there has been time enough; be it that others wait for them, or that they are
// the last.
func TestAStalledRollOutIsReportedWithItsNodes(t *testing.T) {
	for name, test := range map[string]struct {
		maxUnavailable int32
		nodes          string
	}{
		"with outdated pods left": {1, "node [^ ,]+;"},
		"with the last pods":      {2, "nodes [^ ,]+, [^ ,]+;"},
	} {
		t.Run(name, func(t *testing.T) {
			e := setup(t, often)
			e.networkType = e.namespace
			metrics.ServeTypes(e.networkType)
			d := e.daemonSet("agent", plain)
			n := e.network(e.component("agent", "DaemonSet", "agent"))
			e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
			began := time.Now()
			e.clock.SetTime(began)
			before := d.DeepCopy()
			d.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: ptr.To(intstr.FromInt32(test.maxUnavailable))}
			d.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10k")}
			e.Expect(e.shoot.Patch(t.Context(), d, client.MergeFrom(before))).To(Succeed())
			condition := e.becomes(n, corev1beta1.ConditionProgressing, "HealthCheckProgressing")
			e.Expect(condition.Message).NotTo(ContainSubstring("no progress"))
			e.Eventually(func() extensionsv1alpha1.Rollout { return e.rollout(n) }).Should(And(
				HaveField("Nodes", BeEquivalentTo(2)), HaveField("Available", BeNumerically("<", 2)),
				HaveField("Since.Time", BeTemporally("~", began, 2*time.Minute))))
			e.Expect(e.rolloutsStalled()).To(BeZero())
			e.clock.SetTime(time.Now().Add(11 * time.Minute))
			e.Eventually(func() string {
				e.clock.SetTime(e.clock.Now().Add(11 * time.Second)) // a message alone changes only so often
				return e.becomes(n, corev1beta1.ConditionFalse, "HealthCheckUnsuccessful").Message
			}).Should(And(
				MatchRegexp("the roll-out has made no progress for more than 10 minutes because of "+test.nodes),
				ContainSubstring("cannot be scheduled")))
			e.Expect(e.rolloutsStalled()).To(Equal(1.0))
		})
	}
}

// rollout returns the roll-out of the component agent; the zero Rollout if none goes on.
func (e *env) rollout(n *extensionsv1alpha1.Network) extensionsv1alpha1.Rollout {
	e.t.Helper()
	e.clock.SetTime(e.clock.Now().Add(11 * time.Second)) // figures alone change only so often
	e.seed.Read(e.t, n)
	var status struct {
		Rollouts map[string]extensionsv1alpha1.Rollout
	}
	e.Expect(json.Unmarshal([]byte(providerStatus(n)), &status)).To(Succeed())
	return status.Rollouts["agent"]
}

// rolloutsStalled returns the metric's value for the network type of the test.
func (e *env) rolloutsStalled() float64 {
	e.t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	e.Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		for _, m := range family.Metric {
			if family.GetName() == "trellis_rollouts_stalled" && m.Label[0].GetValue() == e.networkType {
				return m.GetGauge().GetValue()
			}
		}
	}
	e.t.Fatal("there is no value for " + e.networkType)
	return 0
}

func TestEachChangeOfAConditionIsALine(t *testing.T) {
	e := setup(t, often)
	n := e.network(e.component("agent", "Deployment", "agent"))
	e.becomes(n, corev1beta1.ConditionProgressing, "HealthCheckProgressing")
	e.stays(n)
	e.deployment("agent", plain)
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
	keys := func(state, message string) string {
		return `"msg"="Network changed condition" "network"="` + e.namespace + `/one" "type"="example" "condition"="SystemComponentsHealthy" ` +
			`"state"="` + state + `" "message"="` + message + `" "duration"=""`
	}
	e.Eventually(func() []string { return e.log.With("Network changed condition") }).Should(Equal([]string{
		keys("Progressing", "agent: the Deployment kube-system/"+e.name("agent")+" does not exist"),
		keys("True", "All network components are healthy: agent (1 of 1 pods)"),
	}))
}
