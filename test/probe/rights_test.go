// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/trellis-network/trellis/test/harness"
)

// recorded returns the cluster behind a proxy that records which rights the probes use.
func (s *shoot) recorded(t *testing.T) (behind *shoot, usage *harness.Usage) {
	t.Helper()
	g := NewWithT(t)
	server, err := url.Parse(s.url)
	g.Expect(err).NotTo(HaveOccurred())
	trusted := x509.NewCertPool()
	g.Expect(trusted.AppendCertsFromPEM(s.ca)).To(BeTrue())
	usage = harness.NewUsage(system)
	proxy := httputil.NewSingleHostReverseProxy(server)
	proxy.Transport = usage.Wrap(&http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}})
	front := httptest.NewTLSServer(proxy)
	t.Cleanup(front.Close)
	copied := *s
	copied.url = front.URL
	copied.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
	return &copied, usage
}

// The probes have exactly the rights that they use.
func TestRightsOfAProbe(t *testing.T) {
	g, direct := newShoot(t)
	s, usage := direct.recorded(t)
	seed := landscape.Seed(t)
	granted := seed.InstallIdentity(t, objects(t))
	g.Expect(granted).NotTo(BeEmpty())
	g.Eventually(func() sets.Set[harness.Right] {
		return seed.Rights(t, "system:serviceaccount:"+system+":"+service, system)
	}).Should(Equal(granted), "what the roles state, and no more")
	pods := map[string]string{"granted-a": "10.98.0.1", "granted-b": "10.98.0.2"}
	s.endpoints(t, pods)
	for node, address := range pods {
		s.run(t, node, address, s.node(t, node))
	}
	g.Eventually(func() []string { return usage.Unused(granted) }).Should(BeEmpty(), "granted and never used")
	g.Expect(usage.Refused()).To(BeEmpty())
}
