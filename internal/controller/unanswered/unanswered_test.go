// SPDX-License-Identifier: Apache-2.0

package unanswered_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/shoot"
	"github.com/trellis-network/trellis/internal/controller/unanswered"
	"github.com/trellis-network/trellis/test/harness"
)

// The seed is the garden, too. Each test has namespaces of its own.
var landscape = harness.Seed()

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

// env is one test's namespace, in which the operator "one" with networks of the types wool and
// hemp looks for what no operator answers.
type env struct {
	*WithT
	t         *testing.T
	seed      *harness.Cluster
	namespace string
	clock     *clocktesting.FakePassiveClock
	requests  harness.Requests
	log       harness.Lines
}

func setup(t *testing.T, standalone bool) *env {
	t.Helper()
	t.Parallel()
	seed := landscape.Seed(t)
	e := &env{WithT: NewWithT(t), t: t, seed: seed, namespace: seed.Namespace(t, "garden-"), clock: clocktesting.NewFakePassiveClock(time.Now())}
	seed.Run(t, []string{e.namespace}, &e.requests, func(mgr manager.Manager) error {
		return unanswered.Add(mgr, unanswered.Options{Operator: "one", Types: []string{"wool", "hemp"}, Standalone: standalone, Clock: e.clock})
	}, func(options *manager.Options) { options.Logger = e.log.Logger() })
	return e
}

func (e *env) network(networkType string) *extensionsv1alpha1.Network {
	n := &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: networkType},
		Spec:       extensionsv1alpha1.NetworkSpec{Type: networkType, PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16"},
	}
	e.Expect(e.seed.Create(e.t.Context(), n)).To(Succeed())
	return n
}

// passes puts the clock forward, and has the objects looked at.
func (e *env) passes(time time.Duration, object client.Object) {
	e.t.Helper()
	e.clock.SetTime(e.clock.Now().Add(time))
	harness.Change(e.t, e.seed, object, func(object client.Object) {
		object.SetAnnotations(map[string]string{"time": fmt.Sprint(e.clock.Now().UnixNano())})
	})
}

// told are the events in the namespace.
func (e *env) told() []string {
	list := &eventsv1.EventList{}
	e.Expect(e.seed.List(e.t.Context(), list, client.InNamespace(e.namespace))).To(Succeed())
	var notes []string
	for i := range list.Items {
		each := &list.Items[i]
		notes = append(notes, strings.Join([]string{each.Type, each.Reason, each.Regarding.Kind, each.Note}, " "))
	}
	return notes
}

// isTold waits, by the clock 45 s each time, until the one event is the one about an object. When
// the operator has seen first what the object asks for, the test does not know.
func (e *env) isTold(object client.Object, about string) {
	e.t.Helper()
	e.Eventually(func() []string { e.passes(45*time.Second, object); return e.told() }).Should(ConsistOf("Warning NoOperator " + about))
}

const note = `No operator has answered within 45s: install and start the one for networks of the type "rope". The operator one has the types wool, hemp.`

// Within a minute, an event tells that no operator answers a Network. It is told once, and nothing
// else is written.
func TestANetworkThatNoOperatorAnswersIsTold(t *testing.T) {
	for name, standalone := range map[string]bool{"in a landscape": false, "standalone": true} {
		t.Run(name, func(t *testing.T) {
			e := setup(t, standalone)
			n := e.network("rope")
			e.passes(44*time.Second, n)
			e.Consistently(e.told, "1s").Should(BeEmpty())
			e.isTold(n, "Network "+note)
			e.passes(time.Hour, n)
			e.seed.Stays(t, n, time.Second)
			e.Expect(e.told()).To(HaveLen(1))
			e.Expect(e.log.With("No operator answers")).To(HaveLen(1))
			e.Expect(e.requests.Writes()).To(BeEmpty())
		})
	}
}

// What another operator answers in time is not told, and neither are Networks of the operator's own
// types. What that operator leaves later is told.
func TestOnlyNetworksThatNoOperatorAnswersAreTold(t *testing.T) {
	e := setup(t, true)
	n := e.network("rope")
	answers := func() {
		harness.ChangeStatus(t, e.seed, n, func(n *extensionsv1alpha1.Network) {
			n.Status.ObservedGeneration = n.Generation
			n.Status.LastOperation = &corev1beta1.LastOperation{Type: "Create", State: "Succeeded", Progress: 100, Description: "Fine", LastUpdateTime: metav1.Now()}
		})
	}
	answers()
	own := e.network("wool")
	e.passes(time.Hour, n)
	e.passes(time.Hour, own)
	e.Consistently(e.told, "1s").Should(BeEmpty())
	harness.Change(t, e.seed, n, func(n *extensionsv1alpha1.Network) {
		n.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(`{"strands":3}`)}
	})
	e.isTold(n, "Network "+note)
}

// Standalone, users edit Shoots. They are told which operator has answered until now.
func TestAShootWhoseOperatorIsGoneIsTold(t *testing.T) {
	e := setup(t, true)
	networkType, pods := "rope", "10.1.0.0/16"
	s := &corev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "example"}}
	s.Spec.Provider = corev1beta1.Provider{Type: "local", Workers: []corev1beta1.Worker{{Name: "one", Minimum: 1, Maximum: 1}}}
	s.Spec.Kubernetes.Version = "1.36.3"
	s.Spec.Networking = &corev1beta1.Networking{Type: &networkType, Pods: &pods}
	e.Expect(e.seed.Create(t.Context(), s)).To(Succeed())
	harness.ChangeStatus(t, e.seed, s, func(s *corev1beta1.Shoot) { s.Status.ObservedGeneration = s.Generation })
	e.Expect(e.seed.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "shoot--" + strings.TrimPrefix(e.namespace, "garden-") + "--example", Labels: map[string]string{shoot.OperatorLabel: "two"},
	}})).To(Succeed())
	e.passes(time.Hour, s)
	e.Consistently(e.told, "1s").Should(BeEmpty())
	harness.Change(t, e.seed, s, func(s *corev1beta1.Shoot) { s.Spec.Kubernetes.Version = "1.36.4" })
	e.isTold(s, "Shoot "+note+" The operator two has reconciled it until now.")
	e.Expect(e.requests.Writes()).To(BeEmpty())
}
