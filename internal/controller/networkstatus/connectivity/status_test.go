// SPDX-License-Identifier: Apache-2.0

package connectivity_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/yaml"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/controller/networkstatus"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/connectivity"
	"github.com/trellis-network/trellis/internal/metrics"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/sandbox"
)

var landscape = harness.Own(sandbox.OfRun)

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

// env is a Network, whose status the controller writes, and a shoot with the nodes one and two. The
// test plays the probes. The clock stands still until the test moves it.
type env struct {
	*WithT
	t           *testing.T
	seed, shoot *harness.Cluster
	probes      client.Client
	clock       *clocktesting.FakePassiveClock
	clients     *shootclient.Clients // the operator's
	requests    harness.Requests
	network     *extensionsv1alpha1.Network
	nodes       []string
	stop        func()
}

func setup(t *testing.T) *env {
	t.Helper()
	e := &env{WithT: NewWithT(t), t: t, seed: landscape.Seed(t), shoot: landscape.Shoot(t)}
	// By then, no node is new. From ten minutes past an hour to the next hour, components that are missing
	// become unhealthy, whenever the test runs.
	e.clock = clocktesting.NewFakePassiveClock(time.Now().Add(time.Hour).Truncate(time.Hour).Add(time.Hour + 10*time.Minute))
	scheme := runtime.NewScheme()
	e.Expect(connectivityv1alpha1.AddToScheme(scheme)).To(Succeed())
	var err error
	e.probes, err = client.New(e.shoot.Config, client.Options{Scheme: scheme})
	e.Expect(err).NotTo(HaveOccurred())
	list := &corev1.NodeList{}
	e.Expect(e.shoot.List(t.Context(), list)).To(Succeed())
	for i := range list.Items {
		e.nodes = append(e.nodes, list.Items[i].Name)
	}
	e.Expect(e.nodes).To(HaveLen(2))

	namespace := e.seed.Namespace(t, "shoot--connectivity--")
	e.seed.PutAccess(t, namespace, e.shoot.Kubeconfig)
	e.network = &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: namespace},
		Spec:       extensionsv1alpha1.NetworkSpec{Type: "probed", PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16"},
	}
	metrics.ServeTypes("probed")
	e.Expect(e.seed.Create(t.Context(), e.network)).To(Succeed())
	t.Cleanup(func() {
		_ = e.seed.Delete(context.Background(), e.network)
		metrics.ForgetConnectivity(client.ObjectKeyFromObject(e.network))
	})
	encoded, err := (&state.State{Components: []plugin.Component{{Name: "agent", Kind: "DaemonSet", Namespace: "kube-system", Workload: "none"}}}).Encode()
	e.Expect(err).NotTo(HaveOccurred())
	harness.ChangeStatus(t, e.seed, e.network, func(n *extensionsv1alpha1.Network) { n.Status.State = encoded })
	e.operate()
	return e
}

// operate runs the controller until stop.
func (e *env) operate() {
	e.t.Helper()
	e.stop = e.seed.Run(e.t, []string{e.network.Namespace}, &e.requests, func(mgr manager.Manager) error {
		e.clients = shootclient.New(shootclient.Options{Metadata: mgr.GetCache(), Secrets: mgr.GetAPIReader(), RetryAfter: time.Millisecond, SyncTimeout: time.Minute})
		if err := mgr.Add(e.clients); err != nil {
			return err
		}
		return networkstatus.Add(mgr, networkstatus.Options{
			Clients: e.clients, Clock: e.clock, Period: 200 * time.Millisecond, ProgressingThreshold: 5 * time.Minute, MaxConcurrentReconciles: 2,
		})
	})
}

// define gives the shoot the kind of the reports, until the test ends.
func (e *env) define() *apiextensionsv1.CustomResourceDefinition {
	e.t.Helper()
	document, err := os.ReadFile("../../../../pipeline/probe/manifests/connectivity.trellis.network_nodeconnectivities.yaml")
	e.Expect(err).NotTo(HaveOccurred())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	e.Expect(yaml.UnmarshalStrict(document, crd)).To(Succeed())
	e.Expect(e.shoot.Create(e.t.Context(), crd)).To(Succeed())
	e.t.Cleanup(func() {
		_ = e.shoot.Delete(context.Background(), crd)
		NewWithT(e.t).Eventually(func() error { return e.shoot.Get(context.Background(), client.ObjectKeyFromObject(crd), crd) }).ShouldNot(Succeed())
	})
	e.Eventually(func() error { return e.probes.List(e.t.Context(), &connectivityv1alpha1.NodeConnectivityList{}) }).Should(Succeed())
	return crd
}

// report writes what the probe of each node has measured now: of a failing check for how long.
func (e *env) report(failing map[connectivityv1alpha1.CheckType]time.Duration) {
	e.t.Helper()
	now := e.clock.Now()
	for i, node := range e.nodes {
		made := &connectivityv1alpha1.NodeConnectivity{ObjectMeta: metav1.ObjectMeta{Name: node}}
		_ = e.probes.Get(e.t.Context(), client.ObjectKeyFromObject(made), made)
		made.Report = connectivityv1alpha1.Report{Time: metav1.NewTime(now), ProbeVersion: "v1", Peers: 1,
			PodInterface: &connectivityv1alpha1.PodInterface{Name: "eth0", MTU: 1450, ProxyARP: new(true)}}
		for check, target := range map[connectivityv1alpha1.CheckType]string{
			connectivityv1alpha1.CheckPods: e.nodes[1-i], connectivityv1alpha1.CheckNodes: e.nodes[1-i],
			connectivityv1alpha1.CheckServices: "trellis-probe", connectivityv1alpha1.CheckDNS: "trellis-probe.kube-system.svc",
		} {
			result := connectivityv1alpha1.Result{Name: target, Address: "10.1.0.2:8099", Attempts: 30, LastSuccess: new(metav1.NewTime(now))}
			if d, fails := failing[check]; fails {
				result.ConsecutiveFailures, result.Error = 3, "no answer within 3s"
				result.FailingSince, result.LastSuccess = new(metav1.NewTime(now.Add(-d))), new(metav1.NewTime(now.Add(-d)))
			}
			made.Report.Checks = append(made.Report.Checks, connectivityv1alpha1.Check{
				Family: "IPv4", Type: check, Targets: 1, Results: []connectivityv1alpha1.Result{result},
			})
		}
		if made.ResourceVersion == "" {
			e.Expect(e.probes.Create(e.t.Context(), made)).To(Succeed())
		} else {
			e.Expect(e.probes.Update(e.t.Context(), made)).To(Succeed())
		}
	}
}

// pass lets time pass, in which the probes report every ten seconds. The clock waits until the
// operator's cache has their reports, or they would be old when they arrive.
func (e *env) pass(d time.Duration, failing map[connectivityv1alpha1.CheckType]time.Duration) {
	e.t.Helper()
	for range d / (10 * time.Second) {
		e.clock.SetTime(e.clock.Now().Add(10 * time.Second))
		e.report(failing)
		e.Eventually(e.cached).WithPolling(time.Millisecond).Should(HaveEach(BeTemporally("==", e.clock.Now())))
	}
}

// cached returns the times of the reports in the operator's cache.
func (e *env) cached() ([]time.Time, error) {
	shoot, err := e.clients.For(e.t.Context(), e.network.Namespace)
	if err != nil {
		return nil, err
	}
	reports := &connectivityv1alpha1.NodeConnectivityList{}
	if err := shoot.Reader.List(e.t.Context(), reports); err != nil {
		return nil, err
	}
	var stated []time.Time
	for i := range reports.Items {
		stated = append(stated, reports.Items[i].Report.Time.Time)
	}
	return stated, nil
}

func (e *env) condition() corev1beta1.Condition {
	e.seed.Read(e.t, e.network)
	return condition.Value(e.network.Status.Conditions, extensionsv1alpha1.PodNetworkAvailable)
}

// becomes waits until the condition has a status and a reason.
func (e *env) becomes(status corev1beta1.ConditionStatus, reason string) string {
	e.t.Helper()
	var found corev1beta1.Condition
	e.Eventually(func() string {
		found = e.condition()
		return fmt.Sprint(found.Status, " ", found.Reason)
	}).Should(Equal(fmt.Sprint(status, " ", reason)))
	return found.Message
}

// turnsFalse waits until the condition is False, while the probes report for up to a minute and a half
// that a check fails.
func (e *env) turnsFalse(failing map[connectivityv1alpha1.CheckType]time.Duration) string {
	e.t.Helper()
	began := e.clock.Now()
	e.Eventually(func() corev1beta1.ConditionStatus {
		if e.clock.Now().Sub(began) < 90*time.Second {
			e.pass(10*time.Second, failing)
		}
		return e.condition().Status
	}).WithPolling(300 * time.Millisecond).Should(Equal(corev1beta1.ConditionFalse))
	return e.condition().Message
}

func (e *env) providerStatus() string {
	if e.network.Status.ProviderStatus == nil {
		return "{}"
	}
	return string(e.network.Status.ProviderStatus.Raw)
}

// writes are the bodies of the writes of the status since the last call.
func (e *env) writes() []string {
	defer e.requests.Forget()
	var bodies []string
	for _, request := range e.requests.Sent() {
		if strings.Contains(request.Path, "/networks/one/status") {
			bodies = append(bodies, request.Body)
		}
	}
	return bodies
}

func TestReportsTurnTheStatus(t *testing.T) {
	e := setup(t)
	e.Eventually(func() int { e.seed.Read(t, e.network); return len(e.network.Status.Conditions) }).Should(Equal(1))
	e.Expect(e.condition().Status).To(BeEmpty(), "a shoot without the kind has no probes")

	crd := e.define()
	e.clock.SetTime(e.clock.Now().Add(5 * time.Second)) // the shoot is asked again after five seconds at first
	e.becomes(corev1beta1.ConditionUnknown, connectivity.ReasonTooFewReports)
	e.writes()

	e.report(nil)
	e.becomes(corev1beta1.ConditionTrue, connectivity.ReasonPassed)
	passed := func() gomegatypes.GomegaMatcher {
		return MatchJSON(`{"components":{"agent":false},
		"connectivityTests":{"pods":true,"services":true,"dns":true,"nodes":true,
			"summary":{"nodes":2,"edges":8,"passingPercent":100,"evidence":"` + e.clock.Now().UTC().Truncate(time.Hour).Format(time.RFC3339) + `"}},
		"networkModules":{"arp_proxy":true}}`)
	}
	e.Eventually(func() string { e.condition(); return e.providerStatus() }).Should(passed())
	e.Expect(len(e.writes())).To(BeNumerically("<=", 3), "the first report, the second, and the figures")

	e.clock.SetTime(e.clock.Now().Truncate(time.Hour).Add(time.Hour + time.Minute))
	e.Eventually(func() string {
		e.pass(10*time.Second, nil)
		e.condition()
		return e.providerStatus()
	}).WithPolling(300 * time.Millisecond).Should(passed())
	e.writes()
	e.pass(20*time.Minute, nil)
	e.seed.Stays(t, e.network, time.Second)
	e.Expect(e.writes()).To(BeEmpty(), "nothing has changed in 240 reports")

	e.Expect(e.turnsFalse(map[connectivityv1alpha1.CheckType]time.Duration{connectivityv1alpha1.CheckDNS: time.Minute})).To(
		Equal("Nodes node-1 and node-2: the test dns fails there, no answer within 3s."))
	e.Expect(e.providerStatus()).To(And(ContainSubstring(`"dns":false`), ContainSubstring(`"pods":true`), ContainSubstring(`"error":"no answer within 3s"`)))
	e.Expect(e.writes()).To(HaveLen(1), "what fails is gathered")
	healthy := condition.Value(e.network.Status.Conditions, "SystemComponentsHealthy")
	e.pass(time.Minute, map[connectivityv1alpha1.CheckType]time.Duration{connectivityv1alpha1.CheckDNS: 2 * time.Minute})
	e.Expect(len(e.writes())).To(BeNumerically("<=", 1))
	e.Eventually(func() map[string]float64 { return harness.Metrics(t, "type", "probed") }).Should(And(
		HaveKeyWithValue(`trellis_connectivity_networks{status="false",type="probed"}`, 1.0),
		HaveKeyWithValue(`trellis_connectivity_tests{result="failing",test="dns",type="probed"}`, 1.0),
		HaveKeyWithValue(`trellis_connectivity_tests{result="passing",test="pods",type="probed"}`, 1.0),
		HaveKeyWithValue(`trellis_connectivity_edges{result="failing",type="probed"}`, 2.0)))

	e.report(nil)
	e.Consistently(e.condition).WithTimeout(time.Second).Should(HaveField("Status", corev1beta1.ConditionFalse), "that it passes must last")
	e.pass(20*time.Second, nil)
	e.becomes(corev1beta1.ConditionTrue, connectivity.ReasonPassed)
	e.Expect(condition.Value(e.network.Status.Conditions, "SystemComponentsHealthy").Status).To(Equal(healthy.Status), "which is about the components")

	e.clock.SetTime(e.clock.Now().Add(3 * time.Minute))
	e.Consistently(e.condition).WithTimeout(time.Second).Should(HaveField("Status", corev1beta1.ConditionTrue))
	e.Eventually(func() corev1beta1.Condition {
		e.clock.SetTime(e.clock.Now().Add(10 * time.Second)) // the last report may have been seen late
		return e.condition()
	}).Should(And(HaveField("Status", corev1beta1.ConditionUnknown), HaveField("Reason", connectivity.ReasonTooFewReports), HaveField("Message",
		ContainSubstring("the probes of 2 of 2 nodes (node-1 and node-2) have not reported for 2 minutes. Their pods of the DaemonSet trellis-probe in kube-system do not run"))))
	e.Expect(e.providerStatus()).NotTo(ContainSubstring("connectivityTests"))

	// The probes are removed with their kind.
	e.report(nil)
	e.becomes(corev1beta1.ConditionTrue, connectivity.ReasonPassed)
	e.Expect(e.shoot.Delete(t.Context(), crd)).To(Succeed())
	e.Eventually(func() corev1beta1.ConditionStatus {
		e.clock.SetTime(e.clock.Now().Add(time.Minute))
		return e.condition().Status
	}).Should(BeEmpty())
	e.Eventually(func() string { e.condition(); return e.providerStatus() }).Should(MatchJSON(`{"components":{"agent":false}}`))
	e.Eventually(func() map[string]float64 { return harness.Metrics(t, "type", "probed") }).ShouldNot(HaveKey(ContainSubstring("trellis_connectivity_")))
}

// As soon as it is deprived of them, whether or not their kind is still there.
func TestANetworkWithoutProbesHasNoVerdict(t *testing.T) {
	e := setup(t)
	e.define()
	e.report(nil)
	e.clock.SetTime(e.clock.Now().Add(time.Minute))
	e.report(nil)
	e.becomes(corev1beta1.ConditionTrue, connectivity.ReasonPassed)
	harness.ChangeStatus(t, e.seed, e.network, func(n *extensionsv1alpha1.Network) {
		kept, err := state.Decode(n.Status.State)
		e.Expect(err).NotTo(HaveOccurred())
		kept.Bundles = []state.Bundle{{Name: "network"}}
		n.Status.State, err = kept.Encode()
		e.Expect(err).NotTo(HaveOccurred())
	})
	e.Eventually(e.condition).Should(HaveField("Status", BeEmpty()))
	e.Expect(e.providerStatus()).NotTo(ContainSubstring("connectivityTests"))
}

func TestAHibernatedClusterHasNoVerdict(t *testing.T) {
	e := setup(t)
	e.define()
	e.report(nil)
	e.clock.SetTime(e.clock.Now().Add(time.Minute))
	e.report(nil)
	e.becomes(corev1beta1.ConditionTrue, connectivity.ReasonPassed)
	shoot := &corev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "garden-dev"}}
	shoot.Spec.Hibernation = &corev1beta1.Hibernation{Enabled: new(true)}
	e.seed.PutShoot(t, e.network.Namespace, shoot)
	e.Eventually(e.condition).Should(HaveField("Status", BeEmpty()))
	e.Expect(e.providerStatus()).NotTo(ContainSubstring("connectivityTests"))
}

// While the API server of the shoot does not answer, the last verdict holds for a minute.
func TestAShootThatCannotBeObservedIsUnknown(t *testing.T) {
	e := setup(t)
	e.define()
	e.report(nil)
	e.clock.SetTime(e.clock.Now().Add(time.Minute))
	e.report(nil)
	e.becomes(corev1beta1.ConditionTrue, connectivity.ReasonPassed)
	e.seed.PutAccess(t, e.network.Namespace, []byte("no kubeconfig"))
	e.Eventually(func() corev1beta1.ConditionStatus {
		e.condition()
		return condition.Value(e.network.Status.Conditions, "SystemComponentsHealthy").Status
	}).Should(Equal(corev1beta1.ConditionUnknown))
	e.Expect(e.condition().Status).To(Equal(corev1beta1.ConditionTrue))
	e.clock.SetTime(e.clock.Now().Add(time.Minute))
	e.Expect(e.becomes(corev1beta1.ConditionUnknown, connectivity.ReasonUnreachable)).To(HavePrefix("The connectivity is unknown: "))
	e.Expect(e.providerStatus()).NotTo(ContainSubstring("connectivityTests"))
	e.seed.PutAccess(t, e.network.Namespace, e.shoot.Kubeconfig)
	e.report(nil)
	e.becomes(corev1beta1.ConditionTrue, connectivity.ReasonPassed)
}

// An operator that starts may find that the shoot does not answer. That is unknown after a minute, as
// if it had run before.
func TestAVerdictOutlivesARestartWhileTheShootCannotBeObserved(t *testing.T) {
	e := setup(t)
	e.define()
	e.report(nil)
	e.becomes(corev1beta1.ConditionTrue, connectivity.ReasonPassed)
	e.stop()
	e.seed.PutAccess(t, e.network.Namespace, []byte("no kubeconfig"))
	e.operate()
	e.Eventually(func() corev1beta1.ConditionStatus {
		e.condition()
		return condition.Value(e.network.Status.Conditions, "SystemComponentsHealthy").Status
	}).Should(Equal(corev1beta1.ConditionUnknown))
	e.Expect(e.condition().Status).To(Equal(corev1beta1.ConditionTrue))
	e.Expect(e.providerStatus()).To(ContainSubstring(`"pods":true`))
	e.clock.SetTime(e.clock.Now().Add(time.Minute))
	e.becomes(corev1beta1.ConditionUnknown, connectivity.ReasonUnreachable)
	e.Expect(e.providerStatus()).NotTo(ContainSubstring("connectivityTests"))
}
