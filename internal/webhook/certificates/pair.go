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

// pair is a certificate with its key.
type pair struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// skew is how much the clocks of other machines may be behind.
const skew = 5 * time.Minute

// newAuthority creates a certificate that signs others.
func newAuthority(now time.Time, lifetime time.Duration) (pair, error) {
	return newPair(&x509.Certificate{
		Subject:               pkix.Name{CommonName: "trellis-webhooks-ca-" + now.UTC().Format(time.DateOnly)},
		NotBefore:             now.Add(-skew),
		NotAfter:              now.Add(lifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}, nil)
}

// newServing creates the certificate of a server with these hosts. It expires with the
// authority at the latest.
func newServing(authority *pair, hosts []string, now time.Time, lifetime time.Duration) (pair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "trellis-webhooks"},
		NotBefore:   now.Add(-skew),
		NotAfter:    now.Add(lifetime),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if template.NotAfter.After(authority.certificate.NotAfter) {
		template.NotAfter = authority.certificate.NotAfter
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
func newPair(template *x509.Certificate, issuer *pair) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("create a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return pair{}, fmt.Errorf("create a serial number: %w", err)
	}
	if issuer == nil {
		issuer = &pair{template, key}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, issuer.certificate, &key.PublicKey, issuer.key)
	if err != nil {
		return pair{}, fmt.Errorf("create a certificate: %w", err)
	}
	certificate, err := x509.ParseCertificate(raw)
	return pair{certificate, key}, err
}

// tls returns the pair for a server.
func (p *pair) tls() *tls.Certificate {
	return &tls.Certificate{Certificate: [][]byte{p.certificate.Raw}, PrivateKey: p.key, Leaf: p.certificate}
}

const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY"
)

// encodePairs encodes certificates and keys as PEM, in the same order.
func encodePairs(pairs ...pair) (certificates, keys []byte, err error) {
	for _, each := range pairs {
		key, err := x509.MarshalPKCS8PrivateKey(each.key)
		if err != nil {
			return nil, nil, fmt.Errorf("encode a key: %w", err)
		}
		certificates = append(certificates, pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: each.certificate.Raw})...)
		keys = append(keys, pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: key})...)
	}
	return certificates, keys, nil
}

// decodePairs is the inverse of encodePairs.
func decodePairs(certificates, keys []byte) ([]pair, error) {
	var pairs []pair
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
		decoded, err := decodePair(certificate, key)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, decoded)
	}
}

func decodePair(certificate, key *pem.Block) (pair, error) {
	parsed, err := x509.ParseCertificate(certificate.Bytes)
	if err != nil {
		return pair{}, err
	}
	private, err := x509.ParsePKCS8PrivateKey(key.Bytes)
	if err != nil {
		return pair{}, err
	}
	signer, ok := private.(*ecdsa.PrivateKey)
	if !ok || !signer.PublicKey.Equal(parsed.PublicKey) {
		return pair{}, fmt.Errorf("the key does not belong to the certificate %s", parsed.Subject.CommonName)
	}
	return pair{parsed, signer}, nil
}
