// SPDX-License-Identifier: Apache-2.0

package networkstatus_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/controller/networkstatus"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/harness"
)

// Each test has its own control-plane namespace, its own workloads in the shoot, and a
// controller of its own.
var landscape = harness.SeedAndShoot()

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

// env is one test's control-plane namespace, with the controller running in it.
type env struct {
	*WithT
	t           *testing.T
	seed, shoot *harness.Cluster
	namespace   string
	clock       *clocktesting.FakePassiveClock
	requests    harness.Requests
	log         harness.Lines
	networkType string
	// clients are the controller's access to shoots.
	clients *shootclient.Clients
}

// ofAnother is a type of Networks of another operator.
const ofAnother = "rope"

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// setup starts the controller. Its clock stands still until the test moves it.
func setup(t *testing.T, period time.Duration, further ...source.Registration) *env {
	t.Helper()
	t.Parallel()
	e := &env{WithT: NewWithT(t), t: t, networkType: "example", clock: clocktesting.NewFakePassiveClock(noon), seed: landscape.Seed(t), shoot: landscape.Shoot(t)}
	e.namespace = e.seed.Namespace(t, "shoot--status--")
	e.seed.PutAccess(t, e.namespace, e.shoot.Kubeconfig)
	e.start(period, further)
	return e
}

func (e *env) start(period time.Duration, further []source.Registration) {
	e.seed.Run(e.t, []string{e.namespace}, &e.requests, func(mgr manager.Manager) error {
		e.clients = shootclient.New(shootclient.Options{Metadata: mgr.GetCache(), Secrets: mgr.GetAPIReader(), RetryAfter: time.Millisecond})
		if err := mgr.Add(e.clients); err != nil {
			return err
		}
		return networkstatus.Add(mgr, networkstatus.Options{
			Clients: e.clients, Clock: e.clock, Period: period, ProgressingThreshold: 5 * time.Minute, MaxConcurrentReconciles: 5, Further: further,
			Serves:   func(networkType string) bool { return networkType != ofAnother },
			PageSize: 1, // so that no cluster is so small that all of it is on one page
		})
	}, func(options *manager.Options) { options.Logger = e.log.Logger() })
}

// aboutNetworks are the requests about Networks but for those of caches.
func (e *env) aboutNetworks() []string { return e.requests.All("/networks/") }

// access writes the Secret that leads to the shoot.
func (e *env) access(kubeconfig string) {
	e.t.Helper()
	e.seed.PutAccess(e.t, e.namespace, []byte(kubeconfig))
}

// cluster writes the Cluster with the Shoot that change makes of an empty one.
func (e *env) cluster(change func(*corev1beta1.Shoot)) {
	e.t.Helper()
	s := &corev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "garden-dev"}}
	change(s)
	e.seed.PutShoot(e.t, e.namespace, s)
}

// name makes a name for a workload that no other test has.
func (e *env) name(workload string) string {
	return workload + strings.TrimPrefix(e.namespace, "shoot--status-")
}

func (e *env) component(key, kind, workload string) plugin.Component {
	return plugin.Component{Name: key, Kind: kind, Namespace: "kube-system", Workload: e.name(workload)}
}

// network creates a Network whose state has these components, as its controller
// would leave it.
func (e *env) network(components ...plugin.Component) *extensionsv1alpha1.Network {
	e.t.Helper()
	n := &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: e.namespace},
		Spec: extensionsv1alpha1.NetworkSpec{
			Type: e.networkType, PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16",
		},
	}
	e.Expect(e.seed.Create(e.t.Context(), n)).To(Succeed())
	e.keep(n, components...)
	return n
}

// keep writes components into the Network's state.
func (e *env) keep(n *extensionsv1alpha1.Network, components ...plugin.Component) {
	e.t.Helper()
	encoded, err := (&state.State{Components: components}).Encode()
	e.Expect(err).NotTo(HaveOccurred())
	e.patchStatus(n, func(n *extensionsv1alpha1.Network) { n.Status.State = encoded })
}

// patchStatus changes a Network's status as its controller does.
func (e *env) patchStatus(n *extensionsv1alpha1.Network, change func(*extensionsv1alpha1.Network)) {
	e.t.Helper()
	harness.ChangeStatus(e.t, e.seed, n, change)
}

// becomes waits until the Network's condition SystemComponentsHealthy has this status
// and reason, and a message with these parts.
func (e *env) becomes(n *extensionsv1alpha1.Network, status corev1beta1.ConditionStatus, reason string, parts ...string) corev1beta1.Condition {
	e.t.Helper()
	var found corev1beta1.Condition
	e.Eventually(func(g Gomega) {
		fresh := &extensionsv1alpha1.Network{}
		g.Expect(e.seed.Get(context.Background(), client.ObjectKeyFromObject(n), fresh)).To(Succeed())
		fresh.DeepCopyInto(n)
		stated := condition.Get(n.Status.Conditions, "SystemComponentsHealthy")
		g.Expect(stated).NotTo(BeNil())
		found = *stated
		g.Expect(string(found.Status)+" "+found.Reason).To(Equal(string(status)+" "+reason), found.Message)
		for _, part := range parts {
			g.Expect(found.Message).To(ContainSubstring(part))
		}
	}).Should(Succeed())
	return found
}

// stays expects that, for a while, the Network does not change at all.
func (e *env) stays(n *extensionsv1alpha1.Network) {
	e.t.Helper()
	e.seed.Stays(e.t, n, 2*time.Second)
}

func providerStatus(n *extensionsv1alpha1.Network) string {
	if n.Status.ProviderStatus == nil {
		return "{}"
	}
	return string(n.Status.ProviderStatus.Raw)
}

func (e *env) podTemplate(name string, change func(*corev1.PodSpec)) (metav1.ObjectMeta, *metav1.LabelSelector, corev1.PodTemplateSpec) {
	labels := map[string]string{"app": e.name(name), resourcesv1alpha1.ManagedBy: "gardener"}
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "example", Image: "example.org/agent:1"}}}
	change(&spec)
	return metav1.ObjectMeta{Name: e.name(name), Namespace: "kube-system", Labels: labels},
		&metav1.LabelSelector{MatchLabels: map[string]string{"app": e.name(name)}},
		corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}
}

// daemonSet creates a DaemonSet in the shoot.
func (e *env) daemonSet(name string, change func(*corev1.PodSpec)) *appsv1.DaemonSet {
	e.t.Helper()
	d := &appsv1.DaemonSet{}
	d.ObjectMeta, d.Spec.Selector, d.Spec.Template = e.podTemplate(name, change)
	return created(e, d)
}

// deployment creates a Deployment in the shoot.
func (e *env) deployment(name string, change func(*corev1.PodSpec)) *appsv1.Deployment {
	e.t.Helper()
	d := &appsv1.Deployment{}
	d.ObjectMeta, d.Spec.Selector, d.Spec.Template = e.podTemplate(name, change)
	return created(e, d)
}

func created[O client.Object](e *env, object O) O {
	e.t.Helper()
	e.Expect(e.shoot.Create(e.t.Context(), object)).To(Succeed())
	e.t.Cleanup(func() { _ = e.shoot.Delete(context.Background(), object) })
	return object
}

func plain(*corev1.PodSpec) {}
