// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/internal/probe/apiserver"
)

// From the start of three probes to a broken path, its report, the repair, and its report.
func TestAPathThatBreaksIsReportedAndSoIsItsRepair(t *testing.T) {
	g, s := newShoot(t)
	pods := map[string]string{"node-a": "10.99.0.1", "node-b": "10.99.0.2", "node-c": "10.99.0.3"}
	s.endpoints(t, pods)
	for node, address := range pods {
		s.run(t, node, address, s.node(t, node))
	}
	for node := range pods {
		g.Eventually(func(g Gomega) {
			found := s.report(t.Context(), node)
			g.Expect(found.Report.Peers).To(BeEquivalentTo(2))
			g.Expect(found.Report.ProbeVersion).To(Equal("v0.0.0-test"))
			for peer := range pods {
				if peer == node {
					continue
				}
				result, err := about(peer, found)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(result.LastSuccess).NotTo(BeNil())
				g.Expect(result.LatencyMicroseconds).To(BeNumerically(">", 0))
			}
		}).Should(Succeed())
	}

	const b = "10.99.0.2:8099"
	s.network.set("node-a", b, true)
	broken := time.Now()
	g.Eventually(func(g Gomega) {
		result, err := about("node-b", s.report(t.Context(), "node-a"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result.ConsecutiveFailures).To(BeNumerically(">=", v1alpha1.FailingThreshold))
		g.Expect(result.FailingSince.Time).To(BeTemporally(">=", broken.Add(-2*time.Second)))
		g.Expect(result.Error).To(Equal("no connection: no route to host"))
		g.Expect(result.Address).To(Equal(b))
	}).Should(Succeed())
	t.Logf("reported after %s, at an attempt a second", time.Since(broken).Round(100*time.Millisecond))
	other, err := about("node-b", s.report(t.Context(), "node-c"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(other.FailingSince).To(BeNil(), "the path from another node")

	s.network.set("node-a", b, false)
	g.Eventually(func(g Gomega) {
		result, err := about("node-b", s.report(t.Context(), "node-a"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result.FailingSince).To(BeNil())
		g.Expect(result.Failures).To(BeNumerically(">=", v1alpha1.FailingThreshold), "it is remembered")
	}).Should(Succeed())
}

func TestAReportIsBoundToTheNodeOfItsProbe(t *testing.T) {
	g, s := newShoot(t)
	own, unbound := s.node(t, "bound"), s.credentials(t, nil)
	s.node(t, "another")
	report := v1alpha1.Report{Time: metav1.Now(), ProbeVersion: "v1"}
	send := func(credentials, node string) error {
		return (&apiserver.Client{URL: s.url, Credentials: credentials}).Report(t.Context(), node, report)
	}
	// The API server enforces a new policy after a moment.
	const refused = "a probe may only report about the node that its token names"
	g.Eventually(func() error { return send(own, "another") }).Should(MatchError(ContainSubstring(refused)))
	g.Expect(send(unbound, "bound")).To(MatchError(ContainSubstring(refused)))
	g.Expect(send(own, "bound")).To(Succeed())
	node := &corev1.Node{}
	g.Expect(s.Get(t.Context(), client.ObjectKey{Name: "bound"}, node)).To(Succeed())
	found := s.report(t.Context(), "bound")
	g.Expect(found.OwnerReferences).To(ConsistOf(metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "bound", UID: node.UID}))

	// Nothing but the report may grow, or outlive its node.
	c := s.as(t, own)
	for what, change := range map[string]func(*v1alpha1.NodeConnectivity){
		"a label": func(n *v1alpha1.NodeConnectivity) { n.Labels = map[string]string{"a": "b"} },
		"an annotation": func(n *v1alpha1.NodeConnectivity) {
			n.Annotations = map[string]string{"a": strings.Repeat("b", 100<<10)}
		},
		"a finalizer":   func(n *v1alpha1.NodeConnectivity) { n.Finalizers = []string{"example.com/stay"} },
		"another owner": func(n *v1alpha1.NodeConnectivity) { n.OwnerReferences[0].Name = "another" },
		"a former node": func(n *v1alpha1.NodeConnectivity) { n.OwnerReferences[0].UID = "former" },
		"no owner":      func(n *v1alpha1.NodeConnectivity) { n.OwnerReferences = nil },
		"one owner and another": func(n *v1alpha1.NodeConnectivity) {
			n.OwnerReferences = append(n.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "bound", UID: "former"})
		},
	} {
		changed, before := found.DeepCopy(), found.DeepCopy()
		change(changed)
		g.Expect(c.Patch(t.Context(), changed, client.MergeFrom(before))).
			To(MatchError(ContainSubstring("the metadata of a report has no labels")), what)
	}
}

// The token of a probe opens nothing but what the probe needs.
func TestAProbeMayDoNothingElse(t *testing.T) {
	g, s := newShoot(t)
	credentials := s.node(t, "curious")
	probe := &apiserver.Client{URL: s.url, Credentials: credentials}
	_, err := probe.Endpoints(t.Context(), system, service)
	g.Expect(err).NotTo(HaveOccurred())
	addresses, err := probe.ServiceIPs(t.Context(), system, service)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(addresses).NotTo(BeEmpty())
	_, err = probe.ServiceIPs(t.Context(), system, "kube-dns")
	g.Expect(err).To(MatchError(ContainSubstring("403")))
	_, err = probe.Endpoints(t.Context(), metav1.NamespaceDefault, service)
	g.Expect(err).To(MatchError(ContainSubstring("403")))
	c := s.as(t, credentials)
	g.Expect(c.Get(t.Context(), client.ObjectKey{Name: "curious"}, &v1alpha1.NodeConnectivity{})).To(Satisfy(apierrors.IsForbidden))
	g.Expect(c.List(t.Context(), &v1alpha1.NodeConnectivityList{})).To(Satisfy(apierrors.IsForbidden))
	g.Expect(c.Delete(t.Context(), &v1alpha1.NodeConnectivity{ObjectMeta: metav1.ObjectMeta{Name: "curious"}})).To(Satisfy(apierrors.IsForbidden))
	g.Expect(c.List(t.Context(), &corev1.PodList{}, client.InNamespace(system))).To(Satisfy(apierrors.IsForbidden))
	g.Expect(c.Get(t.Context(), client.ObjectKey{Name: "curious"}, &corev1.Node{})).To(Satisfy(apierrors.IsForbidden))
}

// as returns a client with the token of a probe.
func (s *shoot) as(t *testing.T, credentials string) client.Client {
	t.Helper()
	g := NewWithT(t)
	token, err := os.ReadFile(filepath.Join(credentials, "token"))
	g.Expect(err).NotTo(HaveOccurred())
	config := &rest.Config{Host: s.url, BearerToken: string(token), TLSClientConfig: rest.TLSClientConfig{CAData: s.ca}}
	// What the kinds are is known to the administrator's client.
	c, err := client.New(config, client.Options{Scheme: s.Scheme(), Mapper: s.RESTMapper()})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}
