// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/trellis-network/trellis/internal/strictjson"
)

// maxKubeconfig is how many bytes a kubeconfig may have.
const maxKubeconfig = 256 << 10

// Config makes a client configuration of a kubeconfig that a user may have
// written. It refuses what would make this process run a program, read one of
// its own files, grow, or tell a password: credential plugins, references to files, YAML
// aliases, more than 256 kB, and users in URLs.
func Config(kubeconfig []byte) (*rest.Config, error) {
	if len(kubeconfig) == 0 {
		return nil, fmt.Errorf("it has no key %s, or nothing under it; a kubeconfig for the shoot is needed there", SecretKey)
	}
	document, err := strictjson.FromYAML(kubeconfig, maxKubeconfig)
	if err != nil {
		return nil, fmt.Errorf("the value of key %s is not a kubeconfig: it %w", SecretKey, err)
	}
	parsed, err := clientcmd.Load(document)
	if err != nil {
		return nil, fmt.Errorf("the value of key %s is not a kubeconfig: %w", SecretKey, err)
	}
	if err := refuse(parsed); err != nil {
		return nil, err
	}
	if err := refuseKeys(parsed); err != nil {
		return nil, err
	}
	config, err := clientcmd.NewDefaultClientConfig(*parsed, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig under key %s cannot be used: %w", SecretKey, err)
	}
	return config, nil
}

// refuse returns an error about what a kubeconfig must not have. It quotes no URL, which may
// have a password.
func refuse(config *clientcmdapi.Config) error {
	for name, user := range config.AuthInfos {
		if user.Exec != nil || user.AuthProvider != nil {
			return fmt.Errorf("the kubeconfig's user %q has a credential plugin, which is not allowed; use a token or a client certificate", name)
		}
		if user.ClientCertificate != "" || user.ClientKey != "" || user.TokenFile != "" {
			return fmt.Errorf("the kubeconfig's user %q refers to files, which is not allowed; use token, or client-certificate-data and client-key-data", name)
		}
	}
	for name, cluster := range config.Clusters {
		if cluster.CertificateAuthority != "" {
			return fmt.Errorf("the kubeconfig's cluster %q refers to a file, which is not allowed; use certificate-authority-data", name)
		}
		if strings.ContainsAny(cluster.Server+cluster.ProxyURL, "@?#") {
			return fmt.Errorf("the URL of the kubeconfig's cluster %q has a user, a query or a fragment, which is not allowed; write it as https://api.example.com:6443, and credentials under users", name)
		}
	}
	if len(config.Clusters) == 0 {
		return errors.New("the kubeconfig names no cluster")
	}
	return nil
}
