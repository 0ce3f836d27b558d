// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// encoded is a certificate as ASN.1.
type encoded struct {
	Signed    asn1.RawValue
	Algorithm pkix.AlgorithmIdentifier
	Signature asn1.BitString
}

// withLongKey returns the certificate of an authority with an RSA key of so many bytes, and the
// certificate of a server that claims to be signed with it. No private key exists: it takes as
// long to find out that a signature is wrong.
func withLongKey(t *testing.T, size int) (authority []byte, server tls.Certificate) {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	signed := func(template, parent *x509.Certificate) (certificate *x509.Certificate, parts encoded) {
		template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(1), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		template.SignatureAlgorithm = x509.ECDSAWithSHA256
		der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), key)
		g.Expect(err).NotTo(HaveOccurred())
		certificate, err = x509.ParseCertificate(der)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = asn1.Unmarshal(der, &parts)
		g.Expect(err).NotTo(HaveOccurred())
		return certificate, parts
	}
	marshal := func(value any) []byte {
		der, err := asn1.Marshal(value)
		g.Expect(err).NotTo(HaveOccurred())
		return der
	}
	withRSA := pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}, Parameters: asn1.NullRawValue}

	template := &x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	ca, parts := signed(template, template)
	modulus := bytes.Repeat([]byte{0xff}, size)
	long := marshal(struct {
		N *big.Int
		E int
	}{new(big.Int).SetBytes(modulus), 1<<31 - 1})
	public := marshal(struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}{pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}, Parameters: asn1.NullRawValue}, asn1.BitString{Bytes: long, BitLength: 8 * len(long)}})
	content := bytes.Replace(parts.Signed.Bytes, ca.RawSubjectPublicKeyInfo, public, 1)
	parts.Signed = asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true, Bytes: content}
	authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: marshal(parts)})

	_, parts = signed(&x509.Certificate{Subject: pkix.Name{CommonName: "server"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, ca)
	// Its algorithm is stated twice, and must be the same.
	content = bytes.Replace(parts.Signed.Bytes, marshal(parts.Algorithm), marshal(withRSA), 1)
	parts.Signed = asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true, Bytes: content}
	parts.Algorithm = withRSA
	wrong := bytes.Repeat([]byte{0x7f}, size)
	parts.Signature = asn1.BitString{Bytes: wrong, BitLength: 8 * len(wrong)}
	return authority, tls.Certificate{Certificate: [][]byte{marshal(parts)}, PrivateKey: key}
}

// processor returns how long processors have worked for this process.
func processor(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// One contact with this API server would take seconds of a processor, also after the contact
// was given up.
func TestKeysThatTakeLongAreRefused(t *testing.T) {
	g := NewWithT(t)
	authority, certificate := withLongKey(t, 50_000)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	defer server.Close()
	text := base64.StdEncoding.EncodeToString
	secret := &onlySecret{kubeconfig: kubeconfigOf(fmt.Sprintf(`"server":%q,"certificate-authority-data":%q`, server.URL, text(authority)))}
	clients := New(patient(secret, secret))
	defer clients.Close()
	before := processor(t)
	_, err := clients.For(t.Context(), "shoot--tenant")
	g.Expect(err).To(MatchError(HaveSuffix(`the kubeconfig's cluster "c" has a certificate or a private key with an RSA key of more than 8192 bits, which is not allowed`)))
	g.Expect(processor(t) - before).To(BeNumerically("<", time.Second))

	long := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: make([]byte, 10_000)})
	for field, value := range map[string][]byte{"client-certificate-data": authority, "client-key-data": long} {
		_, err := Config(fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"https://shoot.example"}}],"users":[{"name":"u","user":{%q:%q}}]}`, field, text(value)))
		g.Expect(err).To(MatchError(HavePrefix(`the kubeconfig's user "u" has a certificate or a private key`)), field)
	}
}
