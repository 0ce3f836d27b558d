// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/harness"
)

// Each test has its own namespace, and starts the controller for itself. The seed is the
// shoot, too.
var landscape = harness.Seed()

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

// env is one test's namespace, with the controller running.
type env struct {
	*WithT
	t         *testing.T
	client    *harness.Cluster
	namespace string
	requests  harness.Requests
	log       harness.Lines
	start     func() (stop func())
	stop      func()
	hasNodes  bool
}

// setup starts the controller with the options that change makes of sensible
// ones. The shoot is a plain one; see env.cluster.
func setup(t *testing.T, change ...func(*network.Options)) *env {
	t.Helper()
	t.Parallel() // most of the time is spent with waiting
	seed := landscape.Seed(t)
	e := &env{WithT: NewWithT(t), t: t, client: seed, namespace: seed.Namespace(t, "shoot--test--")}
	e.cluster(func(*corev1beta1.Shoot) {})

	built, err := pipeline.New([]plugin.Plugin{plugin.New(examplePlugin{})}, nil)
	e.Expect(err).NotTo(HaveOccurred())
	options := network.Options{Pipeline: built, Trigger: network.TriggerGeneration, Standalone: true, MaxConcurrentReconciles: 2, Clock: clock.RealClock{}}
	options.Shoots = shootclient.New(shootclient.Options{Metadata: seed, Secrets: seed})
	for _, c := range change {
		c(&options)
	}
	e.start = func() func() {
		return seed.Run(t, []string{e.namespace}, &e.requests, func(mgr manager.Manager) error { return network.Add(mgr, options) },
			func(options *manager.Options) { options.Logger = e.log.Logger() })
	}
	e.stop = e.start()
	return e
}

// restart ends the controller's process, as far as it knows, and starts another.
func (e *env) restart() {
	e.stop()
	e.stop = e.start()
}

// cluster makes, or changes, the Cluster with the Shoot that change makes of a
// plain one.
func (e *env) cluster(change func(*corev1beta1.Shoot)) {
	e.t.Helper()
	s := &corev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: "garden-test"}}
	change(s)
	e.client.PutShoot(e.t, e.namespace, s)
}

// patchCluster changes the Cluster otherwise.
func (e *env) patchCluster(change func(*extensionsv1alpha1.Cluster)) {
	e.t.Helper()
	harness.Change(e.t, e.client, &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}}, change)
}

// network creates the test's Network.
func (e *env) network(change ...func(*extensionsv1alpha1.Network)) *extensionsv1alpha1.Network {
	n := &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: e.namespace},
		Spec: extensionsv1alpha1.NetworkSpec{
			Type:    "example",
			PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16",
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
	e.t.Helper()
	harness.Change(e.t, e.client, n, change)
}

func (e *env) get(object client.Object) {
	e.t.Helper()
	e.client.Read(e.t, object)
}

// managedResource returns the Network's ManagedResource, once it is there.
func (e *env) managedResource() *resourcesv1alpha1.ManagedResource {
	e.t.Helper()
	return e.managedResourceOf("example-config")
}

func (e *env) managedResourceOf(name string) *resourcesv1alpha1.ManagedResource {
	e.t.Helper()
	mr := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: e.namespace}}
	e.client.Await(e.t, mr)
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
	e.client.Stays(e.t, object, 700*time.Millisecond)
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
