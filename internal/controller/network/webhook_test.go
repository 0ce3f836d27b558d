// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/plugin"
)

// Mutate makes a string a Mutator, whose guard asks.
func (stringPlugin) Mutate(*unstructured.Unstructured) (bool, error) { return false, nil }

// answerer is a webhook server: empty if there is none, else whom to trust.
type answerer struct {
	trusted atomic.Pointer[string]
	changed chan struct{}
}

// answering lets shoots ask.
func answering(trusted string) (*answerer, func(*network.Options)) {
	a := &answerer{changed: make(chan struct{}, 1)}
	a.trusted.Store(&trusted)
	return a, func(options *network.Options) {
		options.WebhookChanged = a.changed
		options.Webhook = func(networkType string) *plugin.Webhook {
			trusted := *a.trusted.Load()
			if trusted == "" {
				return nil
			}
			return &plugin.Webhook{URL: "https://trellis.garden/shoot/" + networkType, CABundle: []byte(trusted)}
		}
	}
}

func (a *answerer) becomes(trusted string) {
	a.trusted.Store(&trusted)
	a.changed <- struct{}{}
}

// answeringModes runs a test in both ways to run, with somebody who answers.
func answeringModes(t *testing.T, test func(e *env, a *answerer, n *extensionsv1alpha1.Network)) {
	for name, mode := range map[string]func(*network.Options){"Gardener": inGardener, "standalone": func(*network.Options) {}} {
		t.Run(name, func(t *testing.T) {
			a, asked := answering("Ann")
			e := setup(t, mode, asked)
			n := e.finished(asking("reconcile"), withConfig(`{"guard":"who asks"}`))
			e.Expect(e.guard()).To(Equal("https://trellis.garden/shoot/string Ann"))
			test(e, a, n)
		})
	}
}

// guard is what the shoot is told of whom to ask.
func (e *env) guard() string {
	e.t.Helper()
	return e.contentOf(guardName)
}

func (e *env) contentOf(name string) string {
	e.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: e.managedResourceOf(name).Spec.SecretRefs[0].Name}}
	e.get(secret)
	object := &unstructured.Unstructured{}
	e.Expect(object.UnmarshalJSON(secret.Data["objects.json"])).To(Succeed())
	content, _, _ := unstructured.NestedString(object.Object, "data", "content")
	return content
}

// Whoever answers with a certificate that the shoot does not trust makes it refuse
// objects, so the shoot is told at once. Nothing else is touched, and it is no operation.
func TestShootsAreToldWhoAnswersNow(t *testing.T) {
	answeringModes(t, func(e *env, a *answerer, n *extensionsv1alpha1.Network) {
		before, main := n.DeepCopy(), e.managedResource()
		e.requests.Forget()
		a.becomes("Ann and Bob")
		e.Eventually(e.guard).Should(Equal("https://trellis.garden/shoot/string Ann and Bob"))
		e.Eventually(func() string { return e.guardSecret(n) }).Should(Equal(e.managedResourceOf(guardName).Spec.SecretRefs[0].Name))
		e.stays(n)
		e.Expect(n.Status.LastOperation).To(Equal(before.Status.LastOperation))
		e.Expect(e.managedResource().ResourceVersion).To(Equal(main.ResourceVersion))
		e.Expect(e.requests.All()).To(HaveLen(4), "the former Secret, the Secret, the ManagedResource and the status: %v", e.requests.All())

		e.requests.Forget()
		a.changed <- struct{}{}
		e.stays(n)
		e.Expect(e.requests.All()).To(BeEmpty(), "nothing is new")
	})
}

// guardSecret is the name of the Secret of the bundle that follows the webhook, as the
// Network's state has it.
func (e *env) guardSecret(n *extensionsv1alpha1.Network) string {
	guard, _ := e.kept(n).Bundle(guardName)
	return guard.Secret
}

func (e *env) kept(n *extensionsv1alpha1.Network) *state.State {
	e.get(n)
	kept, err := state.Decode(n.Status.State)
	e.Expect(err).NotTo(HaveOccurred())
	return kept
}

// Gardener's contract leaves an edit alone until it is asked for.
func TestTellingShootsPicksUpNoEdit(t *testing.T) {
	a, asked := answering("Ann")
	e := setup(t, inGardener, asked)
	n := e.finished(asking("reconcile"), withConfig(`{"guard":"who asks"}`))
	e.patch(n, withConfig(`{"guard":"nobody","backend":"none"}`))
	a.becomes("Bob")
	e.Eventually(e.guard).Should(HaveSuffix(" Bob"))
	e.stays(e.managedResource())
	e.Expect(e.contentOf(mainName)).To(Equal("taut"))
	e.patch(n, asking("reconcile"))
	e.Eventually(e.guard).Should(Equal("nobody"))
}

func TestAnInvalidSpecDoesNotKeepShootsFromBeingTold(t *testing.T) {
	answeringModes(t, func(e *env, a *answerer, n *extensionsv1alpha1.Network) {
		e.patch(n, func(n *extensionsv1alpha1.Network) {
			withConfig(`{"guard":"who asks","backend":"tangled"}`)(n)
			asking("reconcile")(n)
		})
		e.becomes(n, again, erroneous)
		a.becomes("Bob")
		e.Eventually(e.guard).Should(HaveSuffix(" Bob"))
		e.Eventually(func() string { return string(e.kept(n).Applied.Accepted.Webhook.CABundle) }).Should(Equal("Bob"))
		e.stays(n)
		e.Expect(n.Status.LastError.Description).To(ContainSubstring("tangled"))
	})
}

// refuseGuard makes the API server refuse to change the bundle that follows the webhook.
func (e *env) refuseGuard() {
	e.requests.Before(func(request *http.Request) error {
		if request.Method == http.MethodPatch && strings.HasSuffix(request.URL.Path, "/managedresources/"+guardName) {
			return errors.New("no such luck")
		}
		return nil
	})
}

// A shoot that trusts the former CA refuses objects, so the user must learn why.
func TestTheStatusReportsThatAShootCannotBeTold(t *testing.T) {
	answeringModes(t, func(e *env, a *answerer, n *extensionsv1alpha1.Network) {
		e.refuseGuard()
		a.becomes("Bob")
		e.becomes(n, again, erroneous)
		e.Expect(n.Status.LastError.Description).To(ContainSubstring("tell the shoot of the webhook's new address"))
		e.requests.Before(nil)
		e.becomes(n, again, fine)
		e.Expect(e.guard()).To(HaveSuffix(" Bob"))
	})
}

func TestAShootThatCannotBeToldGetsNoEdit(t *testing.T) {
	a, asked := answering("Ann")
	e := setup(t, inGardener, asked)
	n := e.finished(asking("reconcile"), withConfig(`{"guard":"who asks"}`))
	before := n.Generation
	e.patch(n, withConfig(`{"guard":"nobody","backend":"none"}`))
	e.refuseGuard()
	a.becomes("Bob")
	e.becomes(n, again, erroneous)
	e.Expect(n.Status.ObservedGeneration).To(Equal(before))
	e.requests.Before(nil)
	e.becomes(n, again, fine)
	e.Expect(n.Status.ObservedGeneration).To(Equal(before))
	e.Expect(e.guard()).To(HaveSuffix(" Bob"))
	e.Expect(e.contentOf(mainName)).To(Equal("taut"))
}

// What happened while no process ran is made up for.
func TestShootsAreToldAfterARestart(t *testing.T) {
	answeringModes(t, func(e *env, a *answerer, n *extensionsv1alpha1.Network) {
		e.stop()
		trusted := "Bob"
		a.trusted.Store(&trusted)
		e.stop = e.start()
		e.Eventually(e.guard).Should(HaveSuffix(" Bob"))
	})
}

// Nothing in the shoot may ask somebody who is not there.
func TestWhenNobodyAnswersAnyMoreNobodyIsAsked(t *testing.T) {
	answeringModes(t, func(e *env, a *answerer, n *extensionsv1alpha1.Network) {
		a.becomes("")
		e.Eventually(e.names).Should(ConsistOf(mainName))
		e.Eventually(func() string { return e.guardSecret(n) }).Should(BeEmpty())
		a.becomes("Ann")
		e.Eventually(e.names).Should(ConsistOf(mainName, guardName))
	})
}

// A Network that goes is not told anything.
func TestNobodyTellsWhatGoes(t *testing.T) {
	answeringModes(t, func(e *env, a *answerer, n *extensionsv1alpha1.Network) {
		e.patch(n, asking("migrate"))
		e.becomes(n, "Migrate", fine)
		e.Eventually(func() map[string]string { e.get(n); return n.Annotations }).Should(BeEmpty())
		a.becomes("Bob")
		e.stays(n)
		e.Expect(e.names()).To(BeEmpty())
	})
}
