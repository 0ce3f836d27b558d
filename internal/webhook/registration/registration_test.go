// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/trellis-network/trellis/internal/webhook"
	"github.com/trellis-network/trellis/internal/webhook/registration"
	"github.com/trellis-network/trellis/test/harness"
)

var landscape = harness.Seed()

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

// hasty is a clock whose minutes are short.
type hasty struct{ clock.RealClock }

func (hasty) NewTimer(time.Duration) clock.Timer {
	return clock.RealClock{}.NewTimer(50 * time.Millisecond)
}

// What another client changes comes back, and what is right is not written.
func TestConfigurationsStayAsTheyAreWanted(t *testing.T) {
	g := NewWithT(t)
	seed := landscape.Seed(t)
	namespace := seed.Namespace(t, "registration-")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	address := free.Addr().String()
	g.Expect(free.Close()).To(Succeed())

	name := metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"wanted": "true"}}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: name}
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: name}
	t.Cleanup(func() {
		for _, each := range []client.Object{validating, mutating} {
			g.Expect(seed.Delete(context.Background(), each)).To(Succeed())
		}
	})
	var requests harness.Requests
	stop := seed.Run(t, []string{namespace}, &requests, func(mgr manager.Manager) error {
		server, err := webhook.Add(t.Context(), mgr, webhook.Options{
			Client: mgr.GetClient(), Namespace: namespace, Secret: "webhooks", BindAddress: address, URL: "https://" + address,
			Service: "hooks", Clock: clock.RealClock{},
		})
		if err != nil {
			return err
		}
		server.Handle("/example", http.NotFoundHandler())
		return mgr.Add(&registration.Keeper{Client: seed, Server: server, Clock: hasty{}, Wanted: func() []client.Object {
			return []client.Object{
				&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: name, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
					Name: "validate.example.com", ClientConfig: server.ClientConfig("/example"), AdmissionReviewVersions: []string{"v1"},
					SideEffects: new(admissionregistrationv1.SideEffectClassNone), FailurePolicy: new(admissionregistrationv1.Fail),
					MatchPolicy: new(admissionregistrationv1.Equivalent), TimeoutSeconds: new(int32(5)),
					NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
				}}},
				&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: name, Webhooks: []admissionregistrationv1.MutatingWebhook{{
					Name: "mutate.example.com", ClientConfig: server.ClientConfig("/example"), AdmissionReviewVersions: []string{"v1"},
					SideEffects: new(admissionregistrationv1.SideEffectClassNone), FailurePolicy: new(admissionregistrationv1.Fail),
					MatchPolicy: new(admissionregistrationv1.Equivalent), TimeoutSeconds: new(int32(5)), ReinvocationPolicy: new(admissionregistrationv1.NeverReinvocationPolicy),
					NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
				}}},
			}
		}})
	})
	defer stop()
	seed.Await(t, mutating)
	seed.Await(t, validating)
	service := validating.Webhooks[0].ClientConfig.Service
	g.Expect(fmt.Sprint(service.Namespace, "/", service.Name, *service.Path, *service.Port)).To(Equal(namespace + "/hooks/example443"))
	g.Expect(string(validating.Webhooks[0].ClientConfig.CABundle)).To(HavePrefix("-----BEGIN CERTIFICATE-----"))
	seed.Stays(t, mutating, time.Second)

	bundle := mutating.Webhooks[0].ClientConfig.CABundle
	harness.Change(t, seed, mutating, func(m *admissionregistrationv1.MutatingWebhookConfiguration) {
		m.Webhooks[0].ClientConfig.CABundle = nil
		m.Labels = map[string]string{"others": "true"}
	})
	g.Eventually(func(g Gomega) {
		found := &admissionregistrationv1.MutatingWebhookConfiguration{}
		g.Expect(seed.Get(t.Context(), client.ObjectKeyFromObject(mutating), found)).To(Succeed())
		g.Expect(found.Webhooks[0].ClientConfig.CABundle).To(Equal(bundle))
		g.Expect(found.Labels).To(Equal(map[string]string{"wanted": "true", "others": "true"}))
	}).Should(Succeed())

	g.Expect(seed.Delete(t.Context(), validating)).To(Succeed())
	seed.Await(t, validating)
}
