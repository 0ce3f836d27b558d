// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/admission"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/helm"
)

var pack sync.Once

// identity makes the identity that a release of one of the charts brings to a cluster, and returns the
// rights that it states.
func (g *garden) identity(in *harness.Cluster, chart, values string) sets.Set[harness.Right] {
	g.t.Helper()
	folder := filepath.Join(landscape.Get(g.t).Dir, "charts")
	pack.Do(func() { g.Expect(helm.Pack(g.t.Context(), "../..", folder, "v0.0.1")).To(Succeed()) })
	archive, err := os.ReadFile(filepath.Join(folder, chart+"-0.0.1.tgz"))
	g.Expect(err).NotTo(HaveOccurred())
	objects, err := helm.Release{Chart: archive, Name: "trellis-admission", Namespace: g.namespace, Values: values}.Render(g.t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	return in.InstallIdentity(g.t, objects)
}

// as returns the configuration of a user's client.
func as(c *harness.Cluster, user string) *rest.Config {
	config := rest.CopyConfig(c.Config)
	config.Impersonate.UserName = user
	return config
}

// In each mode, the admission has exactly the rights that it uses: in the garden, and in the cluster in
// which it runs.
func TestRightsOfTheAdmission(t *testing.T) {
	const injected = `{gardener: {virtualCluster: {enabled: true, namespace: extension-trellis, serviceAccount: {name: extension-admission-trellis, namespace: kube-system}}}}`
	for name, test := range map[string]struct {
		// values are those of both charts.
		values              string
		inGarden            string // the user in the garden; empty: the service account of the charts
		virtual, standalone bool
	}{
		"in the garden":                              {values: "{}"},
		"standalone":                                 {values: "mode: standalone", standalone: true},
		"a service account of a virtual garden":      {values: "global: {virtualGarden: {enabled: true}}", virtual: true},
		"a user of a virtual garden":                 {values: "global: {virtualGarden: {enabled: true, user: {name: trellis}}}", virtual: true, inGarden: "trellis"},
		"a virtual garden, set by Gardener operator": {values: injected, virtual: true, inGarden: "system:serviceaccount:kube-system:extension-admission-trellis"},
	} {
		t.Run(name, func(t *testing.T) {
			g := setup(t)
			account := "system:serviceaccount:" + g.namespace + ":trellis-admission"
			inGarden, runtime := account, g.Cluster
			if test.inGarden != "" {
				inGarden = test.inGarden
			}
			if test.virtual {
				runtime = landscape.Shoot(t)
				g.Expect(runtime.Create(t.Context(), namespaceNamed(g.namespace))).To(Succeed())
			}
			ofGarden, ofRuntime := g.identity(g.Cluster, "trellis-admission-application", test.values), g.identity(runtime, "trellis-admission-runtime", test.values)
			g.Expect(ofGarden).NotTo(BeEmpty())
			g.Expect(ofRuntime).NotTo(BeEmpty())
			usedInGarden, usedInRuntime := g.NewUsage(t, inGarden, g.namespace), runtime.NewUsage(t, account, g.namespace)
			if !test.virtual { // one identity in one cluster
				ofGarden = ofGarden.Union(ofRuntime)
				ofRuntime, usedInRuntime = ofGarden, usedInGarden
			}
			g.Eventually(func() sets.Set[harness.Right] { return g.Rights(t, inGarden, g.namespace) }).Should(Equal(ofGarden), "what the roles state, and no more")
			g.Eventually(func() sets.Set[harness.Right] { return runtime.Rights(t, account, g.namespace) }).Should(Equal(ofRuntime), "what the roles state, and no more")

			options := g.options(g.freeAddress())
			options.Standalone = test.standalone
			options.Garden, options.Runtime = as(g.Cluster, inGarden), as(runtime, account)
			g.clock.set(100 * day)
			stop := g.start(options)
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: admission.DefaultName}}
			runtime.Await(t, secret)
			former := string(secret.Data[corev1.TLSCertKey])
			g.clock.set(0)
			g.Eventually(func() string {
				runtime.Read(t, secret)
				return string(secret.Data[corev1.TLSCertKey])
			}).ShouldNot(Equal(former), "it is renewed")
			g.areKept()
			stop()
			for used, granted := range map[*harness.Usage]sets.Set[harness.Right]{usedInGarden: ofGarden, usedInRuntime: ofRuntime} {
				g.Eventually(func() []string { return used.Unused(granted) }).Should(BeEmpty(), "granted and never used")
				g.Expect(used.Refused()).To(BeEmpty())
			}
		})
	}
}

// areKept edits the webhook configurations, and waits until they are as they were.
func (g *garden) areKept() {
	g.t.Helper()
	validating := configurations()[0].(*admissionregistrationv1.ValidatingWebhookConfiguration)
	mutating := configurations()[1].(*admissionregistrationv1.MutatingWebhookConfiguration)
	timeouts := func() (all []int32) {
		for _, each := range []client.Object{validating, mutating} {
			if g.Get(g.t.Context(), client.ObjectKeyFromObject(each), each) != nil {
				return nil
			}
		}
		for _, webhook := range validating.Webhooks {
			all = append(all, *webhook.TimeoutSeconds)
		}
		for _, webhook := range mutating.Webhooks {
			all = append(all, *webhook.TimeoutSeconds)
		}
		return all
	}
	g.Eventually(timeouts).ShouldNot(BeEmpty())
	before := timeouts()
	harness.Change(g.t, g.Cluster, validating, func(v *admissionregistrationv1.ValidatingWebhookConfiguration) {
		v.Webhooks[0].TimeoutSeconds = new(int32(29))
	})
	harness.Change(g.t, g.Cluster, mutating, func(m *admissionregistrationv1.MutatingWebhookConfiguration) {
		m.Webhooks[0].TimeoutSeconds = new(int32(29))
	})
	g.Eventually(timeouts).Should(Equal(before))
}
