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

// Mutate makes the plugin a Mutator.
func (examplePlugin) Mutate(*unstructured.Unstructured) (bool, error) { return false, nil }

// webhookServer is the CA of a webhook server, empty if there is none.
type webhookServer struct {
	trusted atomic.Pointer[string]
	changed chan struct{}
}

// servingWebhook gives shoots a webhook.
func servingWebhook(trusted string) (*webhookServer, func(*network.Options)) {
	a := &webhookServer{changed: make(chan struct{}, 1)}
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

func (a *webhookServer) becomes(trusted string) {
	a.trusted.Store(&trusted)
	a.changed <- struct{}{}
}

// webhookModes runs a test in both ways to run, with a webhook.
func webhookModes(t *testing.T, test func(e *env, a *webhookServer, n *extensionsv1alpha1.Network)) {
	for name, mode := range map[string]func(*network.Options){"Gardener": inGardener, "standalone": func(*network.Options) {}} {
		t.Run(name, func(t *testing.T) {
			a, asked := servingWebhook("first")
			e := setup(t, mode, asked)
			n := e.finished(asking("reconcile"), withConfig(`{"admission":"webhook"}`))
			e.Expect(e.admission()).To(Equal("https://trellis.garden/shoot/example first"))
			test(e, a, n)
		})
	}
}

// admission is what the shoot has about the webhook.
func (e *env) admission() string {
	e.t.Helper()
	return e.contentOf(admissionName)
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

// A webhook whose certificate the shoot does not trust makes it refuse objects, so the
// bundle follows the webhook at once. Nothing else is touched, and it is no operation.
func TestShootsFollowTheWebhook(t *testing.T) {
	webhookModes(t, func(e *env, a *webhookServer, n *extensionsv1alpha1.Network) {
		before, main := n.DeepCopy(), e.managedResource()
		e.requests.Forget()
		a.becomes("both")
		e.Eventually(e.admission).Should(Equal("https://trellis.garden/shoot/example both"))
		e.Eventually(func() string { return e.admissionSecret(n) }).Should(Equal(e.managedResourceOf(admissionName).Spec.SecretRefs[0].Name))
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

// admissionSecret is the name of the Secret of the bundle that follows the webhook, as the
// Network's state has it.
func (e *env) admissionSecret(n *extensionsv1alpha1.Network) string {
	admission, _ := e.kept(n).Bundle(admissionName)
	return admission.Secret
}

func (e *env) kept(n *extensionsv1alpha1.Network) *state.State {
	e.get(n)
	kept, err := state.Decode(n.Status.State)
	e.Expect(err).NotTo(HaveOccurred())
	return kept
}

// Gardener's contract leaves an edit alone until it is asked for.
func TestTellingShootsPicksUpNoEdit(t *testing.T) {
	a, asked := servingWebhook("first")
	e := setup(t, inGardener, asked)
	n := e.finished(asking("reconcile"), withConfig(`{"admission":"webhook"}`))
	e.patch(n, withConfig(`{"admission":"none","backend":"none"}`))
	a.becomes("second")
	e.Eventually(e.admission).Should(HaveSuffix(" second"))
	e.stays(e.managedResource())
	e.Expect(e.contentOf(mainName)).To(Equal("overlay"))
	e.patch(n, asking("reconcile"))
	e.Eventually(e.admission).Should(Equal("none"))
}

func TestAnInvalidSpecDoesNotKeepShootsFromBeingTold(t *testing.T) {
	webhookModes(t, func(e *env, a *webhookServer, n *extensionsv1alpha1.Network) {
		e.patch(n, func(n *extensionsv1alpha1.Network) {
			withConfig(`{"admission":"webhook","backend":"unknown"}`)(n)
			asking("reconcile")(n)
		})
		e.becomes(n, again, erroneous)
		a.becomes("second")
		e.Eventually(e.admission).Should(HaveSuffix(" second"))
		e.Eventually(func() string { return string(e.kept(n).Applied.Accepted.Webhook.CABundle) }).Should(Equal("second"))
		e.stays(n)
		e.Expect(n.Status.LastError.Description).To(ContainSubstring("unknown"))
	})
}

// refuseAdmission makes the API server refuse to change the bundle that follows the webhook.
func (e *env) refuseAdmission() {
	e.requests.Before(func(request *http.Request) error {
		if request.Method == http.MethodPatch && strings.HasSuffix(request.URL.Path, "/managedresources/"+admissionName) {
			return errors.New("refused")
		}
		return nil
	})
}

// A shoot that trusts the former CA refuses objects, so the user must learn why.
func TestTheStatusReportsThatAShootCannotBeTold(t *testing.T) {
	webhookModes(t, func(e *env, a *webhookServer, n *extensionsv1alpha1.Network) {
		e.refuseAdmission()
		a.becomes("second")
		e.becomes(n, again, erroneous)
		e.Expect(n.Status.LastError.Description).To(ContainSubstring("tell the shoot of the webhook's new address"))
		e.requests.Before(nil)
		e.becomes(n, again, fine)
		e.Expect(e.admission()).To(HaveSuffix(" second"))
	})
}

func TestAShootThatCannotBeToldGetsNoEdit(t *testing.T) {
	a, asked := servingWebhook("first")
	e := setup(t, inGardener, asked)
	n := e.finished(asking("reconcile"), withConfig(`{"admission":"webhook"}`))
	before := n.Generation
	e.patch(n, withConfig(`{"admission":"none","backend":"none"}`))
	e.refuseAdmission()
	a.becomes("second")
	e.becomes(n, again, erroneous)
	e.Expect(n.Status.ObservedGeneration).To(Equal(before))
	e.requests.Before(nil)
	e.becomes(n, again, fine)
	e.Expect(n.Status.ObservedGeneration).To(Equal(before))
	e.Expect(e.admission()).To(HaveSuffix(" second"))
	e.Expect(e.contentOf(mainName)).To(Equal("overlay"))
}

// The webhook may change while no process runs.
func TestShootsAreToldAfterARestart(t *testing.T) {
	webhookModes(t, func(e *env, a *webhookServer, n *extensionsv1alpha1.Network) {
		e.stop()
		trusted := "second"
		a.trusted.Store(&trusted)
		e.stop = e.start()
		e.Eventually(e.admission).Should(HaveSuffix(" second"))
	})
}

// Nothing in the shoot may call a webhook that is not there.
func TestWithoutWebhookItsBundleIsDeleted(t *testing.T) {
	webhookModes(t, func(e *env, a *webhookServer, n *extensionsv1alpha1.Network) {
		a.becomes("")
		e.Eventually(e.names).Should(ConsistOf(mainName))
		e.Eventually(func() string { return e.admissionSecret(n) }).Should(BeEmpty())
		a.becomes("first")
		e.Eventually(e.names).Should(ConsistOf(mainName, admissionName))
	})
}

// A Network that has migrated does not follow the webhook.
func TestAMigratedNetworkDoesNotFollowTheWebhook(t *testing.T) {
	webhookModes(t, func(e *env, a *webhookServer, n *extensionsv1alpha1.Network) {
		e.patch(n, asking("migrate"))
		e.becomes(n, "Migrate", fine)
		e.Eventually(func() map[string]string { e.get(n); return n.Annotations }).Should(BeEmpty())
		a.becomes("second")
		e.stays(n)
		e.Expect(e.names()).To(BeEmpty())
	})
}
