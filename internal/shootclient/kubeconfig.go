// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Config makes a client configuration of a kubeconfig that a user may have
// written. It refuses what would make this process run a program or read one of
// its own files: credential plugins and references to files.
func Config(kubeconfig []byte) (*rest.Config, error) {
	if len(kubeconfig) == 0 {
		return nil, fmt.Errorf("it has no key %s, or nothing under it; a kubeconfig for the shoot is needed there", SecretKey)
	}
	parsed, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("the value of key %s is not a kubeconfig: %w", SecretKey, err)
	}
	if err := refuseForeignFiles(parsed); err != nil {
		return nil, err
	}
	config, err := clientcmd.NewDefaultClientConfig(*parsed, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig under key %s cannot be used: %w", SecretKey, err)
	}
	return config, nil
}

func refuseForeignFiles(config *clientcmdapi.Config) error {
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
	}
	if len(config.Clusters) == 0 {
		return errors.New("the kubeconfig names no cluster")
	}
	return nil
}
