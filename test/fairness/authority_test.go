// SPDX-License-Identifier: Apache-2.0

package fairness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// authority has the certificates of a gate.
type authority struct {
	ca             []byte // PEM
	valid, expired *tls.Certificate
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "gate"},
		NotBefore: time.Now().AddDate(0, 0, -7), NotAfter: time.Now().AddDate(0, 0, 7),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, root, root, key.Public(), key)
	if err != nil {
		return nil, err
	}
	a := &authority{ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	if a.valid, err = serving(root, key, time.Now().AddDate(0, 0, 7)); err != nil {
		return nil, err
	}
	a.expired, err = serving(root, key, time.Now().AddDate(0, 0, -1))
	return a, err
}

// serving makes a server's certificate that is valid until the given time.
func serving(root *x509.Certificate, key *ecdsa.PrivateKey, until time.Time) (*tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "gate"},
		NotBefore: time.Now().AddDate(0, 0, -7), NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, root, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
