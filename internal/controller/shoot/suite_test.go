// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/yaml"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/shoot"
	"github.com/trellis-network/trellis/test/harness"
)

// The seed is the garden, too. Each test has namespaces of its own, and starts the
// controller for itself.
var landscape = harness.Seed()

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

const (
	succeeded  = corev1beta1.LastOperationStateSucceeded
	processing = corev1beta1.LastOperationStateProcessing
	failing    = corev1beta1.LastOperationStateError

	create    = corev1beta1.LastOperationTypeCreate
	reconcile = corev1beta1.LastOperationTypeReconcile
	deleting  = corev1beta1.LastOperationTypeDelete
)

// env is one test's project, with the controller running in it.
type env struct {
	*WithT
	t            *testing.T
	client       *harness.Cluster
	project      string // the Shoots' namespace
	controlPlane string // that of the Shoot example
	requests     process
	log          *harness.Lines
	stop         func()
}

var projects atomic.Int32

// setup starts the controller in a new project.
func setup(t *testing.T) *env {
	t.Helper()
	e := project(t)
	e.start()
	return e
}

// project makes a new project, in which the controller does not run yet.
func project(t *testing.T) *env {
	t.Helper()
	t.Parallel()
	name := fmt.Sprintf("p%d", projects.Add(1))
	e := &env{
		WithT: NewWithT(t), t: t, client: landscape.Seed(t), log: &harness.Lines{}, stop: func() {},
		project: "garden-" + name, controlPlane: "shoot--" + name + "--example",
	}
	e.namespace(e.project, nil)
	t.Cleanup(func() { e.stop() })
	return e
}

// start starts the controller's process, as far as it knows.
func (e *env) start() {
	e.stop = e.run(&e.requests.Requests, func(mgr manager.Manager) error { return shoot.Add(mgr, shoot.Options{}) })
}

// run runs controllers until the returned function is called.
func (e *env) run(requests *harness.Requests, add func(manager.Manager) error) (stop func()) {
	return e.client.Run(e.t, []string{e.project, e.twin(), e.controlPlane}, requests, add,
		func(options *ctrl.Options) { options.Logger = e.log.Logger() })
}

// twin is the namespace whose Shoots share control planes with the project's.
func (e *env) twin() string { return e.project[len("garden-"):] }

func (e *env) namespace(name string, annotations map[string]string) {
	e.t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
	e.Expect(e.client.Create(e.t.Context(), namespace)).To(Succeed())
}

// example is a Shoot as a user would write it, with fields that we do not know.
const example = `
apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata:
  name: example
  annotations: {example: annotation}
spec:
  cloudProfileName: landscape
  region: east
  dns: {domain: example.example.org}
  kubernetes: {version: 1.33.1, clusterAutoscaler: {scanInterval: 10s}}
  networking:
    type: example
    nodes: 10.250.0.0/16
    providerConfig: {number: 3, nothing: null}
  provider:
    type: cloud
    workers: [{name: one, minimum: 1, maximum: 3, machine: {type: small}}]
`

// shoot creates the Shoot example with what change makes of it.
func (e *env) shoot(change ...func(*corev1beta1.Shoot)) *corev1beta1.Shoot {
	e.t.Helper()
	s := &corev1beta1.Shoot{}
	e.Expect(yaml.Unmarshal([]byte(example), s)).To(Succeed())
	s.Namespace = e.project
	for _, c := range change {
		c(s)
	}
	e.Expect(e.client.Create(e.t.Context(), s)).To(Succeed())
	return s
}

const kubeconfig = `{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":"https://api.example.example.org"}}],
"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
"users":[{"name":"u","user":{"token":"secret"}}]}`

// kubeconfig writes the user's Secret for the Shoot example.
func (e *env) kubeconfig(content string) *corev1.Secret {
	e.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "example.kubeconfig", Namespace: e.project}}
	_, err := ctrl.CreateOrPatch(e.t.Context(), e.client, secret, func() error {
		secret.Data = map[string][]byte{"kubeconfig": []byte(content)}
		return nil
	})
	e.Expect(err).NotTo(HaveOccurred())
	return secret
}

// finished is the Shoot example when all that there is to do is done.
func (e *env) finished(change ...func(*corev1beta1.Shoot)) *corev1beta1.Shoot {
	e.t.Helper()
	e.kubeconfig(kubeconfig)
	s := e.shoot(change...)
	e.applied()
	e.networkSays(succeeded, func(*extensionsv1alpha1.Network) {})
	e.becomes(s, create, succeeded)
	return s
}

// patch changes an object as its user would.
func patch[O client.Object](e *env, object O, change func(O)) {
	e.t.Helper()
	harness.Change(e.t, e.client, object, change)
}

func (e *env) get(object client.Object) {
	e.t.Helper()
	e.client.Read(e.t, object)
}

// appears waits for an object and reads it.
func (e *env) appears(object client.Object) {
	e.t.Helper()
	e.client.Await(e.t, object)
}

func (e *env) network() *extensionsv1alpha1.Network {
	return &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: e.controlPlane}}
}

func (e *env) cluster() *extensionsv1alpha1.Cluster {
	return &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: e.controlPlane}}
}

func (e *env) access() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "gardener", Namespace: e.controlPlane}}
}

func (e *env) prerequisites() *resourcesv1alpha1.ManagedResource {
	return &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Name: shoot.PrerequisitesName, Namespace: e.controlPlane}}
}

// networkSays plays the Network's controller: it says how the present generation,
// of the Network and of the Shoot, has come off.
func (e *env) networkSays(state corev1beta1.LastOperationState, change func(*extensionsv1alpha1.Network)) *extensionsv1alpha1.Network {
	e.t.Helper()
	n := e.network()
	e.appears(n)
	before := n.DeepCopy()
	n.Status.ObservedGeneration = n.Generation
	e.takesIntoAccount(n)
	n.Status.LastOperation = &corev1beta1.LastOperation{
		Type: reconcile, State: state, Progress: 50, Description: "Reconciling the Network", LastUpdateTime: metav1.Now(),
	}
	change(n)
	e.Expect(e.client.Status().Patch(e.t.Context(), n, client.MergeFrom(before))).To(Succeed())
	return n
}

// takesIntoAccount notes the Shoot's present generation once the Cluster has it.
func (e *env) takesIntoAccount(n *extensionsv1alpha1.Network) {
	e.t.Helper()
	s := &corev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: e.project}}
	e.get(s)
	e.Eventually(func() int64 { return e.generationInCluster() }).Should(Equal(s.Generation))
	note(n, s.Generation)
}

func (e *env) generationInCluster() int64 {
	cluster, inside := e.cluster(), &corev1beta1.Shoot{}
	e.get(cluster)
	e.Expect(json.Unmarshal(cluster.Spec.Shoot.Raw, inside)).To(Succeed())
	return inside.Generation
}

// note makes a Network's state say that a generation of the Shoot was taken into
// account.
func note(n *extensionsv1alpha1.Network, generation int64) {
	n.Status.State = &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"shootGeneration":%d}`, generation)}
}

// applied plays the resource manager, which has applied the prerequisites.
func (e *env) applied() {
	e.t.Helper()
	managed := e.prerequisites()
	e.appears(managed)
	harness.ChangeStatus(e.t, e.client, managed, harness.Applied)
}

// becomes waits until the Shoot's status, about its present generation, says this.
func (e *env) becomes(s *corev1beta1.Shoot, operation corev1beta1.LastOperationType, state corev1beta1.LastOperationState, descriptions ...string) {
	e.t.Helper()
	e.Eventually(func(g Gomega) {
		fresh := &corev1beta1.Shoot{}
		g.Expect(e.client.Get(context.Background(), client.ObjectKeyFromObject(s), fresh)).To(Succeed())
		fresh.DeepCopyInto(s)
		last := s.Status.LastOperation
		g.Expect(last).NotTo(BeNil())
		g.Expect(string(last.Type)+" "+string(last.State)).To(Equal(string(operation)+" "+string(state)), last.Description)
		g.Expect(s.Status.ObservedGeneration).To(Equal(s.Generation))
		for _, description := range descriptions {
			g.Expect(last.Description).To(ContainSubstring(description))
		}
	}).Should(Succeed())
}

// gone waits until an object is not there any more.
func (e *env) gone(object client.Object) {
	e.t.Helper()
	e.Eventually(func() error {
		return e.client.Get(context.Background(), client.ObjectKeyFromObject(object), object)
	}).WithTimeout(3 * time.Minute).Should(MatchError(ContainSubstring("not found")))
}

// stays says that, for a while, an object does not change at all.
func (e *env) stays(object client.Object) {
	e.t.Helper()
	e.client.Stays(e.t, object, 700*time.Millisecond)
}
