// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig makes a kubeconfig with embedded certificates. Its context and
// cluster are both named cluster.
func (a *Authority) Kubeconfig(cluster, server, user string, groups ...string) ([]byte, error) {
	client, err := a.Client(user, groups...)
	if err != nil {
		return nil, err
	}
	return clientcmd.Write(clientcmdapi.Config{
		CurrentContext: cluster,
		Contexts:       map[string]*clientcmdapi.Context{cluster: {Cluster: cluster, AuthInfo: user}},
		Clusters: map[string]*clientcmdapi.Cluster{cluster: {
			Server:                   server,
			CertificateAuthorityData: a.Certificate(),
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{user: {
			ClientCertificateData: client.Certificate,
			ClientKeyData:         client.Key,
		}},
	})
}
