// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
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
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/internal/seedclient"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/install"
	"github.com/trellis-network/trellis/test/sandbox"
)

// The tests share one API server. Each has its own namespace, so that they do
// not meet; each starts the controller for itself.
var landscape = sandbox.Share(sandbox.Options{})

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(time.Minute)
	// Each look is a request; most of them find what they found before.
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	SetDefaultConsistentlyPollingInterval(100 * time.Millisecond)
	os.Exit(landscape.Main(m))
}

// env is one test's namespace, with the controller running.
type env struct {
	*WithT
	t         *testing.T
	config    *rest.Config
	client    client.Client
	namespace string
	requests  *audit
	start     func() (stop func())
	stop      func()
	hasNodes  bool
}

var namespaces atomic.Int32

// setup starts the controller with the options that change makes of sensible
// ones. The shoot is a plain one; see env.cluster.
func setup(t *testing.T, change ...func(*network.Options)) *env {
	t.Helper()
	t.Parallel() // most of the time is spent with waiting
	g := NewWithT(t)
	config, admin, err := administrator(t)
	g.Expect(err).NotTo(HaveOccurred())
	e := &env{
		WithT: g, t: t, config: config, client: admin,
		namespace: fmt.Sprintf("shoot--test--%d", namespaces.Add(1)),
		requests:  &audit{},
	}
	g.Expect(admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}})).To(Succeed())
	e.cluster(func(*corev1beta1.Shoot) {})

	built, err := pipeline.New([]plugin.Plugin{plugin.New(stringPlugin{})}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	options := network.Options{Pipeline: built, Trigger: network.TriggerGeneration, Standalone: true, MaxConcurrentReconciles: 2, Clock: clock.RealClock{}}
	options.Shoots = shootclient.New(shootclient.Options{Metadata: admin, Secrets: admin})
	for _, c := range change {
		c(&options)
	}
	e.start = func() func() { return e.run(rest.CopyConfig(config), options) }
	e.stop = e.start()
	t.Cleanup(func() { e.stop() })
	return e
}

var connecting sync.Mutex

// shared is the client that all tests have, once the first of them has installed what
// they need.
var shared client.Client

// administrator returns what may do everything in the seed.
func administrator(t *testing.T) (*rest.Config, client.Client, error) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", landscape.Get(t).Seed.Kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	config.QPS = -1
	connecting.Lock()
	defer connecting.Unlock()
	if shared != nil {
		return config, shared, nil
	}
	admin, err := client.New(config, client.Options{Scheme: seedclient.Scheme()})
	if err != nil {
		return nil, nil, err
	}
	if err := install.CRDs(t.Context(), admin); err != nil {
		return nil, nil, err
	}
	shared = admin
	return config, admin, nil
}

// restart ends the controller's process, as far as it knows, and starts another.
func (e *env) restart() {
	e.stop()
	e.stop = e.start()
}

// run runs the controller for this test's namespace until the returned function
// is called.
func (e *env) run(api *rest.Config, options network.Options) func() {
	api.Wrap(e.requests.wrap)
	mgr, err := ctrl.NewManager(api, ctrl.Options{
		Scheme:  seedclient.Scheme(),
		Metrics: metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
			return e.client.RESTMapper(), nil // what the API server has is found out once
		},
		Controller: crconfig.Controller{SkipNameValidation: ptr.To(true)},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{e.namespace: {}}},
		Client:     seedclient.Options(),
	})
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(network.Add(mgr, options)).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- mgr.Start(ctx) }()
	var once sync.Once
	return func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				e.t.Errorf("the manager ended with %v", err)
			}
		})
	}
}

// cluster makes, or changes, the Cluster with the Shoot that change makes of a
// plain one.
func (e *env) cluster(change func(*corev1beta1.Shoot)) {
	s := &corev1beta1.Shoot{
		TypeMeta:   metav1.TypeMeta{APIVersion: corev1beta1.GroupVersion.String(), Kind: "Shoot"},
		ObjectMeta: metav1.ObjectMeta{Name: "tin", Namespace: "garden-test"},
	}
	change(s)
	raw, err := json.Marshal(s)
	e.Expect(err).NotTo(HaveOccurred())
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}}
	_, err = ctrl.CreateOrPatch(e.t.Context(), e.client, cluster, func() error {
		cluster.Spec.CloudProfile = runtime.RawExtension{Raw: []byte(`{}`)}
		cluster.Spec.Shoot = runtime.RawExtension{Raw: raw}
		return nil
	})
	e.Expect(err).NotTo(HaveOccurred())
}

// patchCluster changes the Cluster otherwise.
func (e *env) patchCluster(change func(*extensionsv1alpha1.Cluster)) {
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}}
	e.get(cluster)
	before := cluster.DeepCopy()
	change(cluster)
	e.Expect(e.client.Patch(e.t.Context(), cluster, client.MergeFrom(before))).To(Succeed())
}

// network creates the test's Network.
func (e *env) network(change ...func(*extensionsv1alpha1.Network)) *extensionsv1alpha1.Network {
	n := &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Name: "tin", Namespace: e.namespace},
		Spec: extensionsv1alpha1.NetworkSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "string"},
			PodCIDR:     "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16",
		},
	}
	for _, c := range change {
		c(n)
	}
	e.Expect(e.client.Create(e.t.Context(), n)).To(Succeed())
	return n
}

func withConfig(config string) func(*extensionsv1alpha1.Network) {
	return func(n *extensionsv1alpha1.Network) {
		n.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(config)}
	}
}

func asking(operation string) func(*extensionsv1alpha1.Network) {
	return func(n *extensionsv1alpha1.Network) {
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, extensionsv1alpha1.OperationAnnotation, operation)
	}
}

// patch changes the Network as its user would.
func (e *env) patch(n *extensionsv1alpha1.Network, change func(*extensionsv1alpha1.Network)) {
	e.get(n)
	before := n.DeepCopy()
	change(n)
	e.Expect(e.client.Patch(e.t.Context(), n, client.MergeFrom(before))).To(Succeed())
}

func (e *env) get(object client.Object) {
	e.Expect(e.client.Get(e.t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
}

// managedResource returns the Network's ManagedResource, once it is there.
func (e *env) managedResource() *resourcesv1alpha1.ManagedResource {
	e.t.Helper()
	return e.managedResourceOf("string-config")
}

func (e *env) managedResourceOf(name string) *resourcesv1alpha1.ManagedResource {
	e.t.Helper()
	mr := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: e.namespace}}
	e.Eventually(func() error {
		return e.client.Get(e.t.Context(), client.ObjectKeyFromObject(mr), mr)
	}).Should(Succeed())
	return mr
}

// resourceManager plays the resource manager: it says of the ManagedResource, in
// its present generation, what became of it.
func (e *env) resourceManager(status corev1beta1.ConditionStatus, reason, message string, since time.Time, codes ...corev1beta1.ErrorCode) {
	mr := e.managedResource()
	before := mr.DeepCopy()
	if status == corev1beta1.ConditionTrue {
		mr.Status.ObservedGeneration = mr.Generation
	}
	mr.Status.Conditions = []corev1beta1.Condition{{
		Type: resourcesv1alpha1.ResourcesApplied, Status: status, Reason: reason, Message: message, Codes: codes,
		LastTransitionTime: metav1.NewTime(since), LastUpdateTime: metav1.NewTime(since),
	}}
	e.Expect(e.client.Status().Patch(e.t.Context(), mr, client.MergeFrom(before))).To(Succeed())
}

func (e *env) applied() {
	e.resourceManager(corev1beta1.ConditionTrue, "ApplySucceeded", "All resources are applied.", time.Now())
}

// becomes waits until the Network's status is as the matchers say.
func (e *env) becomes(n *extensionsv1alpha1.Network, operation corev1beta1.LastOperationType, state corev1beta1.LastOperationState) {
	e.t.Helper()
	e.Eventually(func(g Gomega) {
		g.Expect(e.client.Get(context.Background(), client.ObjectKeyFromObject(n), n)).To(Succeed())
		g.Expect(n.Status.LastOperation).NotTo(BeNil())
		g.Expect(string(n.Status.LastOperation.Type) + "/" + string(n.Status.LastOperation.State)).To(Equal(string(operation) + "/" + string(state)))
	}).Should(Succeed())
}

// stays says that, for a while, the object does not change at all.
func (e *env) stays(object client.Object) {
	e.t.Helper()
	e.get(object)
	version := object.GetResourceVersion()
	e.Consistently(func() string {
		e.get(object)
		return object.GetResourceVersion()
	}).WithTimeout(700 * time.Millisecond).Should(Equal(version))
}

// finished is a Network that the controller has carried out.
func (e *env) finished(change ...func(*extensionsv1alpha1.Network)) *extensionsv1alpha1.Network {
	n := e.network(change...)
	e.applied()
	e.becomes(n, corev1beta1.LastOperationTypeCreate, corev1beta1.LastOperationStateSucceeded)
	return n
}

// inGardener are the options in a landscape of Gardener's.
func inGardener(options *network.Options) {
	options.Trigger, options.Standalone = network.TriggerOperation, false
}

func at(passive *clocktesting.FakePassiveClock) func(*network.Options) {
	return func(options *network.Options) { options.Clock = passive }
}

func keyOf(object client.Object) client.ObjectKey { return client.ObjectKeyFromObject(object) }
