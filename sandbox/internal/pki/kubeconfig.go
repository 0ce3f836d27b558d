// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Server is where clients of a kubeconfig connect to.
type Server struct {
	// Cluster is the name of the context and of the cluster.
	Cluster string
	// URL is the API server's.
	URL string
	// Proxy is the URL of the proxy by which clients reach it. If it is empty, they reach it
	// directly.
	Proxy string
}

// Kubeconfig makes a kubeconfig with embedded certificates.
func (a *Authority) Kubeconfig(server Server, user string, groups ...string) ([]byte, error) {
	client, err := a.Client(user, groups...)
	if err != nil {
		return nil, err
	}
	return clientcmd.Write(clientcmdapi.Config{
		CurrentContext: server.Cluster,
		Contexts:       map[string]*clientcmdapi.Context{server.Cluster: {Cluster: server.Cluster, AuthInfo: user}},
		Clusters: map[string]*clientcmdapi.Cluster{server.Cluster: {
			Server:                   server.URL,
			ProxyURL:                 server.Proxy,
			CertificateAuthorityData: a.Certificate(),
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{user: {
			ClientCertificateData: client.Certificate,
			ClientKeyData:         client.Key,
		}},
	})
}
