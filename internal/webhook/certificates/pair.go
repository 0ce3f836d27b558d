// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// skew is how much the clocks of other machines may be behind.
const skew = 5 * time.Minute

// newAuthority creates a certificate that signs others.
func newAuthority(now time.Time) (tls.Certificate, error) {
	return newPair(&x509.Certificate{
		Subject:               pkix.Name{CommonName: "trellis-webhooks-ca-" + now.UTC().Format(time.DateOnly)},
		NotBefore:             now.Add(-skew),
		NotAfter:              now.Add(authorityLifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}, nil)
}

// newServing creates the certificate of a server with these hosts. It expires with the
// authority at the latest.
func newServing(authority *tls.Certificate, hosts []string, now time.Time) (tls.Certificate, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "trellis-webhooks"},
		NotBefore:   now.Add(-skew),
		NotAfter:    now.Add(servingLifetime),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if template.NotAfter.After(authority.Leaf.NotAfter) {
		template.NotAfter = authority.Leaf.NotAfter
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return newPair(template, authority)
}

// newPair creates a key and a certificate that issuer signs; without one the certificate
// signs itself.
func newPair(template *x509.Certificate, issuer *tls.Certificate) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return tls.Certificate{}, fmt.Errorf("create a serial number: %w", err)
	}
	if issuer == nil {
		issuer = &tls.Certificate{Leaf: template, PrivateKey: key}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, issuer.Leaf, &key.PublicKey, issuer.PrivateKey)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create a certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(raw)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: leaf}, err
}

// encodePairs encodes certificates and keys as PEM, in the same order.
func encodePairs(pairs ...tls.Certificate) (certificates, keys []byte, err error) {
	for _, each := range pairs {
		key, err := x509.MarshalPKCS8PrivateKey(each.PrivateKey)
		if err != nil {
			return nil, nil, fmt.Errorf("encode a key: %w", err)
		}
		certificates = append(certificates, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: each.Leaf.Raw})...)
		keys = append(keys, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
	}
	return certificates, keys, nil
}

// decodePairs is the inverse of encodePairs. It is an error if a key does not belong to
// its certificate.
func decodePairs(certificates, keys []byte) ([]tls.Certificate, error) {
	var pairs []tls.Certificate
	for {
		var certificate, key *pem.Block
		certificate, certificates = pem.Decode(certificates)
		key, keys = pem.Decode(keys)
		if certificate == nil && key == nil {
			return pairs, nil
		}
		if certificate == nil || key == nil {
			return nil, errors.New("the numbers of keys and certificates differ")
		}
		pair, err := tls.X509KeyPair(pem.EncodeToMemory(certificate), pem.EncodeToMemory(key))
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, pair)
	}
}
