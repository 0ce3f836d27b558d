// SPDX-License-Identifier: Apache-2.0

// Package fairness tests that shoots do not wait for other shoots that do not answer or are
// hostile, and measures how much longer they take meanwhile. `make bench` prints the times with
// and without shoots that do not answer, `make robustness` what a hostile one costs the others.
package fairness

import (
	"crypto/tls"
	"io"
	"log"
	"net"
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
	// blackHole accepts requests and never answers.
	blackHole
	// tooMany answers with status 429, too many requests.
	tooMany
	// slow delays each answer.
	slow
	// expired serves a certificate that has expired.
	expired
)

// late is the delay of each answer of a slow API server.
const late = 2 * time.Second

// gate is a proxy in front of a real API server. It simulates the API server of one shoot,
// and its faults.
type gate struct {
	server *httptest.Server
	fault  atomic.Int32
	// hostile is the way in which it is, or nil. connections counts those that were made, and
	// open those of them that are.
	hostile           atomic.Pointer[way]
	connections, open atomic.Int32
	ca                []byte

	mu sync.Mutex
	// holding is the number of requests that wait for an answer, and most its maximum so far.
	holding, most int
}

// hold blocks a request until its sender gives up.
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

// holds returns the number of requests that hold blocks now.
func (g *gate) holds() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.holding
}

// held returns the largest number of requests that hold has blocked at once.
func (g *gate) held() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most
}

// inNamespaces maps the path of all objects of a namespaced kind to its resource.
var inNamespaces = map[string]string{"/api/v1/configmaps": "configmaps", "/apis/apps/v1/deployments": "deployments"}

// newGate returns a proxy for the API server of config. Through it, a list of all objects of
// a namespaced kind has only the objects in the given namespace, which are those of one shoot.
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
	foreign, err := newAuthority()
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
		if hostile := g.hostile.Load(); hostile != nil && hostile.serve(w, r, namespace) {
			return
		}
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
		certificate, hostile := authority.valid, g.hostile.Load()
		switch connection := g.connections.Add(1); {
		case hostile != nil && hostile.changing && connection%3 == 0:
			certificate = foreign.valid
		case hostile != nil && hostile.changing && connection%3 == 1, fault(g.fault.Load()) == expired:
			certificate = authority.expired
		}
		return &tls.Config{Certificates: []tls.Certificate{*certificate}, NextProtos: []string{"http/1.1"}}, nil
	}}
	g.server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients reject the expired certificate
	g.server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			g.open.Add(1)
		case http.StateClosed:
			g.open.Add(-1)
		}
	}
	g.server.StartTLS()
	return g, nil
}

// become sets the fault, and closes the connections from before.
func (g *gate) become(f fault) {
	g.fault.Store(int32(f))
	g.server.CloseClientConnections()
}

// turn makes the API server hostile in a way, or no longer with nil, and closes the
// connections from before.
func (g *gate) turn(to *way) {
	g.hostile.Store(to)
	g.server.CloseClientConnections()
}

// kubeconfig returns a kubeconfig for the gate.
func (g *gate) kubeconfig() ([]byte, error) {
	return clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"shoot": {Server: g.server.URL, CertificateAuthorityData: g.ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"shoot": {Token: "any"}},
		Contexts:       map[string]*clientcmdapi.Context{"shoot": {Cluster: "shoot", AuthInfo: "shoot"}},
		CurrentContext: "shoot",
	})
}
