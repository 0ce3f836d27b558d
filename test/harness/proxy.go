// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
)

// Proxy serves an API server at another address, until the test ends, and records which rights the
// requests use that it sends on. It is for programs whose client a test cannot wrap. It returns the
// address, https and 127.0.0.1 with a port, and in PEM the authority that clients must trust there.
func (u *Usage) Proxy(tb testing.TB, c *Cluster) (address string, authority []byte) {
	tb.Helper()
	server, err := url.Parse(c.Config.Host)
	if err != nil {
		tb.Fatal(err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(c.Config.CAData) {
		tb.Fatal("the kubeconfig has no authority")
	}
	proxy := httputil.NewSingleHostReverseProxy(server)
	proxy.Transport = u.Wrap(&http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}})
	front := httptest.NewTLSServer(proxy)
	tb.Cleanup(func() {
		front.CloseClientConnections() // watches would last
		front.Close()
	})
	return front.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
}
