// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// stranger is the name in the certificates of a server that is none of the tenant's.
const stranger = "vault-0.internal.example"

// A kubeconfig may lead to any TLS server that the operator reaches. Its certificate tells what
// else there is.
func TestNoCertificateIsQuoted(t *testing.T) {
	valid, past := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	local, other := net.IPv4(127, 0, 0, 1), net.IPv4(10, 9, 8, 7)
	for name, test := range map[string]struct {
		until   time.Time
		address net.IP
		trusted bool
		cluster string
		adjust  func(*tls.Config)
		told    error
	}{
		"other names":               {valid, local, false, `,"tls-server-name":"tenant.example"`, nil, errOtherName},
		"other addresses":           {valid, other, false, ``, nil, errOtherName},
		"another authority":         {valid, local, false, ``, nil, errAuthority},
		"expired":                   {past, local, true, ``, nil, errExpired},
		"needs client certificates": {valid, local, true, ``, func(c *tls.Config) { c.ClientAuth, c.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12 }, errHandshake},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			serving, authority := certificate(g, test.until, test.address), certificate(g, valid, local)
			if test.trusted {
				authority = serving
			}
			server := httptest.NewUnstartedServer(http.NotFoundHandler())
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.TLS = &tls.Config{Certificates: []tls.Certificate{serving}}
			if test.adjust != nil {
				test.adjust(server.TLS)
			}
			server.StartTLS()
			defer server.Close()
			ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Certificate[0]})
			err := reachWith(t, fmt.Sprintf(`"server":%q,"certificate-authority-data":%q%s`, server.URL, base64.StdEncoding.EncodeToString(ca), test.cluster))
			g.Expect(err).To(MatchError("the shoot's API server " + server.URL + " cannot be reached: " + test.told.Error()))
		})
	}
}

// Nor is where a name leads, and who resolves it.
func TestAddressesOfNamesAreNotTold(t *testing.T) {
	g := NewWithT(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	_ = closed.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	named := func(address string) string { return strings.Replace(address, "127.0.0.1", "localhost", 1) }
	refusing := named(closed.Addr().String())
	for name, test := range map[string]struct{ server, proxy, told string }{
		"refused":      {"https://" + refusing, "", errRejected.Error()},
		"unresolvable": {"https://vault.invalid:443", "", errUnresolved.Error()},
		"without TLS":  {named(strings.Replace(plain.URL, "http:", "https:", 1)), "", errNoTLS.Error()},
		"by a proxy":   {"https://vault.invalid:443", "http://" + refusing, "the proxy on the way cannot be used: " + errRejected.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			err := reachWith(t, fmt.Sprintf(`"server":%q,"proxy-url":%q`, test.server, test.proxy))
			NewWithT(t).Expect(err).To(MatchError("the shoot's API server " + test.server + " cannot be reached: " + test.told))
		})
	}
}

// The debug data of HTTP/2 is free text.
func TestTheEndOfAConnectionIsNotQuoted(t *testing.T) {
	g := NewWithT(t)
	goAway := errors.New(`http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=NO_ERROR, debug="` + stranger + `"`)
	g.Expect(unanswered(goAway)).To(MatchError(errBroken.Error()))
	g.Expect(unread(goAway)).To(BeIdenticalTo(io.ErrUnexpectedEOF), "a watch begins again")
	g.Expect(unread(io.EOF)).To(BeIdenticalTo(io.EOF))
}

// reachWith returns why the API server of a kubeconfig whose cluster has these fields cannot be
// reached.
func reachWith(t *testing.T, cluster string) error {
	secret := &onlySecret{kubeconfig: kubeconfigOf(cluster)}
	clients := New(patient(secret, secret))
	defer clients.Close()
	_, err := clients.For(t.Context(), "shoot--tenant")
	return err
}

// certificate issues one of a stranger, which is its own authority.
func certificate(g *WithT, until time.Time, address net.IP) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: stranger},
		NotBefore: until.Add(-24 * time.Hour), NotAfter: until,
		DNSNames: []string{stranger}, IPAddresses: []net.IP{address},
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
