// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// maxKeyBits is how many bits an RSA key in a kubeconfig may have, and maxKey how many bytes a
// private key. crypto/tls has the same limit, but only for certificates that a server sends: one
// contact with a server whose CA has a key of 1,000,000 bits takes half a minute of a processor.
const maxKeyBits, maxKey = 8192, 8 << 10

// refuseKeys returns an error about keys with which a signature would take too long.
func refuseKeys(config *clientcmdapi.Config) error {
	for name, cluster := range config.Clusters {
		if hasLongKey(cluster.CertificateAuthorityData) {
			return fmt.Errorf("the kubeconfig's cluster %q %w", name, errLongKey)
		}
	}
	for name, user := range config.AuthInfos {
		if hasLongKey(user.ClientCertificateData) || hasLongKey(user.ClientKeyData) {
			return fmt.Errorf("the kubeconfig's user %q %w", name, errLongKey)
		}
	}
	return nil
}

var errLongKey = fmt.Errorf("has a certificate or a private key with an RSA key of more than %d bits, which is not allowed", maxKeyBits)

// hasLongKey reports whether the certificates and private keys of a PEM file have one that is
// too long. Others report what cannot be parsed.
func hasLongKey(file []byte) bool {
	for block, rest := pem.Decode(file); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			if len(block.Bytes) > maxKey {
				return true
			}
			continue
		}
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil {
			if key, ok := certificate.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() > maxKeyBits {
				return true
			}
		}
	}
	return false
}
