// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"
)

func TestKubeconfig(t *testing.T) {
	authority, err := NewAuthority("ca")
	if err != nil {
		t.Fatal(err)
	}
	content, err := authority.Kubeconfig(Server{Cluster: "seed", URL: "https://127.0.0.1:1"}, "system:a/b", "dev", "ops")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	if err != nil {
		t.Fatal(err)
	}
	certificates, err := certutil.ParseCertsPEM(config.CertData)
	if err != nil {
		t.Fatal(err)
	}
	subject := certificates[0].Subject
	if subject.CommonName != "system:a/b" || len(subject.Organization) != 2 {
		t.Errorf("the certificate is for %v", subject)
	}
	verify(t, authority, certificates[0], x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

func TestServing(t *testing.T) {
	authority, err := NewAuthority("ca")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Serving("server", []string{"kubernetes"}, []net.IP{net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	certificates, err := certutil.ParseCertsPEM(pair.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kubernetes", "127.0.0.1"} {
		verify(t, authority, certificates[0], x509.VerifyOptions{DNSName: name})
	}
}

func verify(t *testing.T, authority *Authority, certificate *x509.Certificate, options x509.VerifyOptions) {
	t.Helper()
	options.Roots = x509.NewCertPool()
	options.Roots.AddCert(authority.certificate)
	if _, err := certificate.Verify(options); err != nil {
		t.Error(err)
	}
}

func TestFilesArePrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "key")
	if err := WriteSigningKey(path); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", file, info.Mode().Perm(), want)
		}
	}
}
