// SPDX-License-Identifier: Apache-2.0

// Package pki makes the certificates and kubeconfigs of a cluster. Its keys are
// elliptic curve keys, which take milliseconds to make.
package pki

import (
	"crypto"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	kubeadmapi "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	"k8s.io/kubernetes/cmd/kubeadm/app/util/pkiutil"
)

// Authority is the certificate authority of one cluster. Its methods are safe
// for concurrent use.
type Authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// Pair is a certificate and its key, both PEM-encoded.
type Pair struct {
	Certificate []byte
	Key         []byte
}

// NewAuthority makes a certificate authority.
func NewAuthority(name string) (*Authority, error) {
	certificate, key, err := pkiutil.NewCertificateAuthority(config(certutil.Config{CommonName: name}))
	if err != nil {
		return nil, fmt.Errorf("make the certificate authority %s: %w", name, err)
	}
	return &Authority{certificate: certificate, key: key}, nil
}

// Pair returns the authority's own certificate and key.
func (a *Authority) Pair() (Pair, error) { return pair(a.certificate, a.key) }

// Certificate returns the authority's certificate, PEM-encoded.
func (a *Authority) Certificate() []byte { return pkiutil.EncodeCertPEM(a.certificate) }

// Serving makes a certificate for a server with these names and addresses.
func (a *Authority) Serving(name string, names []string, addresses []net.IP) (Pair, error) {
	return a.issue(certutil.Config{
		CommonName: name,
		AltNames:   certutil.AltNames{DNSNames: names, IPs: addresses},
		Usages:     []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// Client makes a certificate for a client that Kubernetes knows by this user
// name and these groups.
func (a *Authority) Client(user string, groups ...string) (Pair, error) {
	return a.issue(certutil.Config{
		CommonName:   user,
		Organization: groups,
		Usages:       []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (a *Authority) issue(request certutil.Config) (Pair, error) {
	certificate, key, err := pkiutil.NewCertAndKey(a.certificate, a.key, config(request))
	if err != nil {
		return Pair{}, fmt.Errorf("make a certificate for %s: %w", request.CommonName, err)
	}
	return pair(certificate, key)
}

func config(request certutil.Config) *pkiutil.CertConfig {
	return &pkiutil.CertConfig{Config: request, EncryptionAlgorithm: kubeadmapi.EncryptionAlgorithmECDSAP256}
}

func pair(certificate *x509.Certificate, key crypto.Signer) (Pair, error) {
	encoded, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Certificate: pkiutil.EncodeCertPEM(certificate), Key: encoded}, nil
}

// Write writes the pair to NAME.crt and NAME.key in dir. Only the user can read
// them.
func (p Pair) Write(dir, name string) error {
	if err := WriteFile(filepath.Join(dir, name+".crt"), p.Certificate); err != nil {
		return err
	}
	return WriteFile(filepath.Join(dir, name+".key"), p.Key)
}

// WriteSigningKey makes a key for signing service account tokens and writes it
// to path.
func WriteSigningKey(path string) error {
	key, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return fmt.Errorf("make a key for service accounts: %w", err)
	}
	return WriteFile(path, key)
}

// WriteFile writes a file that only the user can read, in a directory that only
// the user can read.
func WriteFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}
