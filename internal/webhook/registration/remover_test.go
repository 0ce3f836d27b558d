// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/webhook/registration"
	"github.com/trellis-network/trellis/test/harness"
)

// configuration creates a MutatingWebhookConfiguration without webhooks, with a label.
func configuration(t *testing.T, seed *harness.Cluster, label string) *admissionregistrationv1.MutatingWebhookConfiguration {
	t.Helper()
	g := NewWithT(t)
	created := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "remover-", Labels: map[string]string{"operator": label, "others": "true"},
	}}
	g.Expect(seed.Create(t.Context(), created)).To(Succeed())
	t.Cleanup(func() { g.Expect(client.IgnoreNotFound(seed.Delete(context.Background(), created))).To(Succeed()) })
	return created
}

func remover(c client.Client, names ...string) *registration.Remover {
	return &registration.Remover{Client: c, Names: names, Labels: map[string]string{"operator": "ours"}, Clock: hasty{}}
}

func TestOnlyOwnConfigurationsAreRemoved(t *testing.T) {
	g := NewWithT(t)
	seed := landscape.Seed(t)
	ours, others, served := configuration(t, seed, "ours"), configuration(t, seed, "another"), configuration(t, seed, "ours")
	g.Expect(remover(seed, ours.Name, others.Name, "not-there").Start(t.Context())).To(Succeed())
	g.Expect(seed.Get(t.Context(), client.ObjectKeyFromObject(ours), ours)).To(MatchError(ContainSubstring("not found")))
	seed.Read(t, others)
	seed.Read(t, served)
}

// A program without the rights has never kept a configuration.
func TestWithoutRightsNothingIsRemoved(t *testing.T) {
	g := NewWithT(t)
	seed := landscape.Seed(t)
	ours := configuration(t, seed, "ours")
	config := rest.CopyConfig(seed.Config)
	config.Impersonate.UserName = "without-rights"
	var requests harness.Requests
	config.Wrap(requests.Wrap)
	c, err := client.New(config, client.Options{Scheme: seed.Scheme(), Mapper: seed.RESTMapper()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(remover(c, ours.Name).Start(t.Context())).To(Succeed())
	g.Expect(requests.All("mutatingwebhookconfigurations")).To(BeEmpty())
	seed.Read(t, ours)
}

// A removal that fails is tried again, until the program ends.
func TestARemovalThatFailsIsTriedAgain(t *testing.T) {
	g := NewWithT(t)
	seed := landscape.Seed(t)
	ours := configuration(t, seed, "ours")
	config := rest.CopyConfig(seed.Config)
	unreachable := errors.New("unreachable")
	var requests harness.Requests
	failures := 2
	requests.Before(func(*http.Request) error {
		if failures--; failures >= 0 {
			return unreachable
		}
		return nil
	})
	config.Wrap(requests.Wrap)
	c, err := client.New(config, client.Options{Scheme: seed.Scheme(), Mapper: seed.RESTMapper()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(remover(c, ours.Name).Start(t.Context())).To(Succeed())
	g.Expect(seed.Get(t.Context(), client.ObjectKeyFromObject(ours), ours)).To(MatchError(ContainSubstring("not found")))

	failures = 1 << 20
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	g.Expect(remover(c, ours.Name).Start(ctx)).To(Succeed())
}
