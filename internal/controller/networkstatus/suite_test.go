// SPDX-License-Identifier: Apache-2.0

package networkstatus_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/controller/networkstatus"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
	"github.com/trellis-network/trellis/internal/seed"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/install"
	"github.com/trellis-network/trellis/test/sandbox"
)

// The tests share a seed and a shoot with two simulated nodes. Each has its own
// control-plane namespace, its own workloads, and a controller of its own.
var landscape = sandbox.Share(sandbox.Options{Shoots: []string{"garden-dev/one"}, Nodes: 2})

func TestMain(m *testing.M) {
	// The tests wait for API servers most of the time.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	ctrl.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	SetDefaultConsistentlyPollingInterval(100 * time.Millisecond)
	os.Exit(landscape.Main(m))
}

// env is one test's control-plane namespace, with the controller running in it.
type env struct {
	*WithT
	t           *testing.T
	seed, shoot client.Client
	namespace   string
	clock       *clocktesting.FakePassiveClock
	requests    atomic.Int32
}

var (
	connecting              sync.Mutex
	installing              sync.Once
	seedClient, shootClient client.Client

	namespaces atomic.Int32
	noon       = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
)

// setup starts the controller. Its clock stands still until the test moves it.
func setup(t *testing.T, period time.Duration, further ...source.Registration) *env {
	t.Helper()
	t.Parallel()
	s := landscape.Get(t)
	e := &env{WithT: NewWithT(t), t: t, clock: clocktesting.NewFakePassiveClock(noon)}
	e.namespace = fmt.Sprintf("shoot--status--%d", namespaces.Add(1))
	connecting.Lock()
	api := e.connect(s.Seed.Kubeconfig, &seedClient)
	e.connect(s.Shoots[0].Kubeconfig, &shootClient)
	e.seed, e.shoot = seedClient, shootClient
	connecting.Unlock()
	installing.Do(func() { e.Expect(install.CRDs(t.Context(), e.seed)).To(Succeed()) })
	e.Expect(e.seed.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}})).To(Succeed())
	kubeconfig, err := os.ReadFile(s.Shoots[0].Kubeconfig)
	e.Expect(err).NotTo(HaveOccurred())
	e.access(string(kubeconfig))
	e.start(api, period, further)
	return e
}

// connect makes a client that all tests share, if there is none yet.
func (e *env) connect(kubeconfig string, into *client.Client) *rest.Config {
	e.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	e.Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	if *into != nil {
		return config
	}
	*into, err = client.New(config, client.Options{Scheme: seed.Scheme()})
	e.Expect(err).NotTo(HaveOccurred())
	return config
}

func (e *env) start(api *rest.Config, period time.Duration, further []source.Registration) {
	api = rest.CopyConfig(api)
	api.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if strings.Contains(request.URL.Path, "/networks/") {
				e.requests.Add(1)
			}
			return next.RoundTrip(request)
		})
	})
	mgr, err := ctrl.NewManager(api, ctrl.Options{
		Scheme:  seed.Scheme(),
		Metrics: metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
			return e.seed.RESTMapper(), nil // what the API server has is found out once
		},
		Controller: crconfig.Controller{SkipNameValidation: ptr.To(true)},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{e.namespace: {}}},
		Client:     seed.ClientOptions(),
	})
	e.Expect(err).NotTo(HaveOccurred())
	clients := shootclient.New(shootclient.Options{Metadata: mgr.GetCache(), Secrets: mgr.GetAPIReader(), RetryAfter: time.Millisecond})
	e.Expect(mgr.Add(clients)).To(Succeed())
	e.Expect(networkstatus.Add(mgr, networkstatus.Options{
		Clients: clients, Clock: e.clock, Period: period, Further: further,
		PageSize: 1, // so that no cluster is so small that all of it is on one page
	})).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	e.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			e.t.Errorf("the manager ended with %v", err)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// access writes the Secret that leads to the shoot.
func (e *env) access(kubeconfig string) {
	e.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "gardener", Namespace: e.namespace}}
	_, err := ctrl.CreateOrPatch(e.t.Context(), e.seed, secret, func() error {
		secret.Data = map[string][]byte{"kubeconfig": []byte(kubeconfig)}
		return nil
	})
	e.Expect(err).NotTo(HaveOccurred())
}

// cluster writes the Cluster with the Shoot that change makes of an empty one.
func (e *env) cluster(change func(*corev1beta1.Shoot)) {
	s := &corev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "garden-dev"}}
	change(s)
	raw, err := json.Marshal(s)
	e.Expect(err).NotTo(HaveOccurred())
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}}
	_, err = ctrl.CreateOrPatch(e.t.Context(), e.seed, cluster, func() error {
		cluster.Spec.CloudProfile = runtime.RawExtension{Raw: []byte(`{}`)}
		cluster.Spec.Shoot = runtime.RawExtension{Raw: raw}
		return nil
	})
	e.Expect(err).NotTo(HaveOccurred())
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
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "string"}, PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16",
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
	e.Expect(e.seed.Get(e.t.Context(), client.ObjectKeyFromObject(n), n)).To(Succeed())
	before := n.DeepCopy()
	change(n)
	e.Expect(e.seed.Status().Patch(e.t.Context(), n, client.MergeFrom(before))).To(Succeed())
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
	version := func() string {
		e.Expect(e.seed.Get(e.t.Context(), client.ObjectKeyFromObject(n), n)).To(Succeed())
		return n.ResourceVersion
	}
	before := version()
	e.Consistently(version).WithTimeout(2 * time.Second).Should(Equal(before))
}

func providerStatus(n *extensionsv1alpha1.Network) string {
	if n.Status.ProviderStatus == nil {
		return "{}"
	}
	return string(n.Status.ProviderStatus.Raw)
}

func (e *env) podTemplate(name string, change func(*corev1.PodSpec)) (metav1.ObjectMeta, *metav1.LabelSelector, corev1.PodTemplateSpec) {
	labels := map[string]string{"app": e.name(name), resourcesv1alpha1.ManagedBy: "gardener"}
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "string", Image: "example.org/string:1"}}}
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
