// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/trellis-network/trellis/test/harness"
)

// front serves an API server at another address, with the rights of an administrator, until the
// test ends. It returns a kubeconfig for that address.
func front(tb testing.TB, c *harness.Cluster, handle func(http.Handler) http.Handler, adjust func(*httputil.ReverseProxy)) (kubeconfig []byte) {
	tb.Helper()
	g := NewWithT(tb)
	transport, err := rest.TransportFor(c.Config)
	g.Expect(err).NotTo(HaveOccurred())
	target, err := url.Parse(c.Config.Host)
	g.Expect(err).NotTo(HaveOccurred())
	proxy := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Del("Authorization")
		r.Out.Header.Del("Accept-Encoding")
	}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}
	adjust(proxy)
	server := httptest.NewUnstartedServer(handle(proxy))
	server.EnableHTTP2 = true
	server.StartTLS()
	tb.Cleanup(func() {
		server.CloseClientConnections() // watches would last
		server.Close()
	})
	kubeconfig, err = clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"front": {
			Server: server.URL, CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"front": {Token: "any"}},
		Contexts:       map[string]*clientcmdapi.Context{"front": {Cluster: "front", AuthInfo: "front"}},
		CurrentContext: "front",
	})
	g.Expect(err).NotTo(HaveOccurred())
	return kubeconfig
}

// write is a request that changes something.
type write struct {
	method, path, contentType string
	body                      []byte
}

// recorder records the writes of a client to one namespace.
type recorder struct {
	namespace string
	mutex     sync.Mutex
	writes    []write
}

// handle returns a handler that records what it hands on.
func (r *recorder) handle(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodGet && strings.Contains(request.URL.Path, "/namespaces/"+r.namespace+"/") {
			body, _ := io.ReadAll(request.Body)
			request.Body = io.NopCloser(bytes.NewReader(body))
			path := request.URL.Path
			if request.URL.RawQuery != "" {
				path += "?" + request.URL.RawQuery
			}
			r.mutex.Lock()
			r.writes = append(r.writes, write{request.Method, path, request.Header.Get("Content-Type"), body})
			r.mutex.Unlock()
		}
		next.ServeHTTP(w, request)
	})
}

// take returns what was recorded since the last call.
func (r *recorder) take() []write {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	taken := r.writes
	r.writes = nil
	return taken
}

// client sends recorded writes again, for other Networks than those of which they were recorded.
type client struct {
	*http.Client
	server string
}

func newClient(tb testing.TB, c *harness.Cluster) *client {
	tb.Helper()
	sends, err := rest.HTTPClientFor(c.Config)
	NewWithT(tb).Expect(err).NotTo(HaveOccurred())
	return &client{sends, c.Config.Host}
}

// subject is a Network for which writes are sent again: what stands in them for the recorded one is
// replaced by what it has.
type subject struct {
	replaced *strings.Replacer
	// version is the last resourceVersion of the Network.
	version string
}

var versionOf = regexp.MustCompile(`"resourceVersion":"\d+"`)

// send sends a write. It returns an error if the API server does not accept it.
func (c *client) send(ctx context.Context, w write, of *subject) error {
	body := of.replaced.Replace(string(w.body))
	isNetwork := strings.Contains(w.path, "/networks/")
	if isNetwork {
		body = versionOf.ReplaceAllString(body, `"resourceVersion":"`+of.version+`"`)
	}
	request, err := http.NewRequestWithContext(ctx, w.method, c.server+of.replaced.Replace(w.path), strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", w.contentType)
	response, err := c.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %d %s %w", w.method, request.URL.Path, response.StatusCode, answer, err)
	}
	var object struct {
		Metadata struct{ ResourceVersion string }
	}
	if isNetwork && json.Unmarshal(answer, &object) == nil {
		of.version = object.Metadata.ResourceVersion
	}
	return nil
}
