// SPDX-License-Identifier: Apache-2.0

// Package fairness shows that shoots do not wait for others that do not answer, and
// measures how much longer they take meanwhile: `make bench` prints both side by side.
package fairness

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// fault is what is wrong with a shoot's API server.
type fault int32

const (
	none fault = iota
	// blackHole takes requests and never answers.
	blackHole
	// tooMany answers that there are too many requests.
	tooMany
	// slow answers late.
	slow
	// expired shows a certificate of yesterday.
	expired
)

// late is how long a slow API server takes for each answer.
const late = 2 * time.Second

// gate stands before a real API server and plays a shoot's of its own.
type gate struct {
	server *httptest.Server
	fault  atomic.Int32
	ca     []byte

	mu sync.Mutex
	// holding is how many requests are not answered, and most how many were so at the
	// same time at most.
	holding, most int
}

// hold keeps a request for as long as its sender waits.
func (g *gate) hold(r *http.Request) {
	g.mu.Lock()
	g.holding++
	g.most = max(g.most, g.holding)
	g.mu.Unlock()
	<-r.Context().Done()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holding--
}

// holds is how many requests are held now, and held how many were at most.
func (g *gate) holds() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.holding
}

func (g *gate) held() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most
}

// inNamespaces are the paths of all objects of a kind, of kinds that networks have in
// namespaces.
var inNamespaces = map[string]string{"/api/v1/configmaps": "configmaps", "/apis/apps/v1/deployments": "deployments"}

// newGate leads to the API server that config is for, as far as that is the shoot's: of
// what is in namespaces, only that of one.
func newGate(config *rest.Config, namespace string) (*gate, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	authority, err := newAuthority()
	if err != nil {
		return nil, err
	}
	g := &gate{ca: authority.ca}
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if resource, all := inNamespaces[r.Out.URL.Path]; all {
				r.Out.URL.Path = strings.TrimSuffix(r.Out.URL.Path, resource) + "namespaces/" + namespace + "/" + resource
			}
			r.Out.Header.Del("Authorization")
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	g.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch fault(g.fault.Load()) {
		case blackHole:
			g.hold(r)
			return
		case tooMany:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		case slow:
			select {
			case <-r.Context().Done():
				return
			case <-time.After(late):
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	g.server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		certificate := authority.valid
		if fault(g.fault.Load()) == expired {
			certificate = authority.expired
		}
		return &tls.Config{Certificates: []tls.Certificate{*certificate}, NextProtos: []string{"http/1.1"}}, nil
	}}
	g.server.Config.ErrorLog = log.New(io.Discard, "", 0) // of certificates that are refused
	g.server.StartTLS()
	return g, nil
}

// become changes what is wrong. Connections that know of nothing end.
func (g *gate) become(f fault) {
	g.fault.Store(int32(f))
	g.server.CloseClientConnections()
}

// kubeconfig leads through the gate.
func (g *gate) kubeconfig() ([]byte, error) {
	return clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"shoot": {Server: g.server.URL, CertificateAuthorityData: g.ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"shoot": {Token: "anybody"}},
		Contexts:       map[string]*clientcmdapi.Context{"shoot": {Cluster: "shoot", AuthInfo: "shoot"}},
		CurrentContext: "shoot",
	})
}
