// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/internal/probe/apiserver"
)

// serve starts an API server, and returns a client with the token.
func serve(t *testing.T, token string, handler http.HandlerFunc) *apiserver.Client {
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	folder := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	write(t, folder, "ca.crt", string(ca))
	write(t, folder, "token", token)
	return &apiserver.Client{URL: server.URL, Credentials: folder}
}

func write(t *testing.T, folder, name, content string) {
	NewWithT(t).Expect(os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600)).To(Succeed())
}

// A token is renewed by the kubelet while the probe runs.
func TestTheTokenIsThatOfTheFile(t *testing.T) {
	g := NewWithT(t)
	var seen []string
	c := serve(t, "one\n", func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, "{}")
	})
	_, err := c.Endpoints(t.Context(), "kube-system", "trellis-probe")
	g.Expect(err).NotTo(HaveOccurred())
	write(t, c.Credentials, "token", "two")
	g.Expect(c.Report(t.Context(), "node-a", v1alpha1.Report{})).To(Succeed())
	g.Expect(seen).To(Equal([]string{"Bearer one", "Bearer two"}))
}

// project writes a token as the kubelet writes projected volumes: the files are links through a link
// to a folder, which is replaced at once.
func project(t *testing.T, folder, token string) {
	g := NewWithT(t)
	content, err := os.MkdirTemp(folder, "..content-")
	g.Expect(err).NotTo(HaveOccurred())
	write(t, content, "token", token)
	next := filepath.Join(folder, "..data_tmp")
	g.Expect(os.Symlink(filepath.Base(content), next)).To(Succeed())
	g.Expect(os.Rename(next, filepath.Join(folder, "..data"))).To(Succeed())
	if err := os.Symlink(filepath.Join("..data", "token"), filepath.Join(folder, "token")); !errors.Is(err, os.ErrExist) {
		g.Expect(err).NotTo(HaveOccurred())
	}
}

// An API server may refuse a token before the kubelet has renewed it, for example once its keys have
// changed. The next request has the new one, and needs no other connection.
func TestARefusedTokenIsReplacedByTheNextOfTheKubelet(t *testing.T) {
	g := NewWithT(t)
	connections := map[string]bool{}
	c := serve(t, "", func(w http.ResponseWriter, r *http.Request) {
		connections[r.RemoteAddr] = true
		if r.Header.Get("Authorization") != "Bearer new" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"message": "Unauthorized"}`)
			return
		}
		_, _ = io.WriteString(w, "{}")
	})
	g.Expect(os.Remove(filepath.Join(c.Credentials, "token"))).To(Succeed())
	project(t, c.Credentials, "old")
	for range 2 {
		err := c.Report(t.Context(), "node-a", v1alpha1.Report{})
		var status *apiserver.StatusError
		g.Expect(errors.As(err, &status)).To(BeTrue(), "%v", err)
		g.Expect(status.Code).To(Equal(http.StatusUnauthorized))
	}
	project(t, c.Credentials, "new")
	g.Expect(c.Report(t.Context(), "node-a", v1alpha1.Report{})).To(Succeed())
	_, err := c.Endpoints(t.Context(), "kube-system", "trellis-probe")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(connections).To(HaveLen(1))
}

func TestTheCertificatesAreThoseOfTheFile(t *testing.T) {
	g := NewWithT(t)
	c := serve(t, "token", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	good, err := os.ReadFile(filepath.Join(c.Credentials, "ca.crt"))
	g.Expect(err).NotTo(HaveOccurred())
	write(t, c.Credentials, "ca.crt", "nothing")
	g.Expect(c.Report(t.Context(), "node-a", v1alpha1.Report{})).To(MatchError(ContainSubstring("ca.crt has no certificate")))
	write(t, c.Credentials, "ca.crt", string(good))
	g.Expect(c.Report(t.Context(), "node-a", v1alpha1.Report{})).To(Succeed())
}

func TestTheNodeOfTheTokenOwnsItsReport(t *testing.T) {
	g := NewWithT(t)
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"kubernetes.io": {"node": {"name": "node-a", "uid": "1-2-3"}, "namespace": "kube-system"}}`))
	var body v1alpha1.NodeConnectivity
	var request *http.Request
	c := serve(t, "header."+claims+".signature", func(w http.ResponseWriter, r *http.Request) {
		request, body = r, v1alpha1.NodeConnectivity{}
		_ = json.NewDecoder(r.Body).Decode(&body)
		_, _ = io.WriteString(w, "{}")
	})
	g.Expect(c.Report(t.Context(), "node-a", v1alpha1.Report{Peers: 3})).To(Succeed())
	g.Expect(request.Method).To(Equal(http.MethodPatch))
	g.Expect(request.URL.String()).To(Equal("/apis/connectivity.trellis.network/v1alpha1/nodeconnectivities/node-a?force=true&fieldManager=trellis-probe"))
	g.Expect(body.Report.Peers).To(BeEquivalentTo(3))
	g.Expect(body.OwnerReferences).To(ConsistOf(And(HaveField("Kind", "Node"), HaveField("Name", "node-a"), HaveField("UID", BeEquivalentTo("1-2-3")))))
	write(t, c.Credentials, "token", "no JWT")
	g.Expect(c.Report(t.Context(), "node-a", v1alpha1.Report{})).To(Succeed())
	g.Expect(body.OwnerReferences).To(BeEmpty())
}

func TestEndpointsAreReadFromSlices(t *testing.T) {
	g := NewWithT(t)
	c := serve(t, "token", func(w http.ResponseWriter, r *http.Request) {
		g.Expect(r.URL.String()).To(Equal("/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dtrellis-probe&resourceVersion=0"))
		_, _ = io.WriteString(w, `{"items": [{"endpoints": [
			{"addresses": ["10.1.0.1"], "nodeName": "a", "conditions": {"ready": true}},
			{"addresses": ["10.1.0.2"], "nodeName": "b", "conditions": {"ready": false, "terminating": true}}]},
			{"endpoints": [{"addresses": ["fd00::1"], "nodeName": "a"}, {"addresses": ["example.com"]}, {"addresses": []}]}]}`)
	})
	endpoints, err := c.Endpoints(t.Context(), "kube-system", "trellis-probe")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(endpoints).To(HaveLen(3))
	g.Expect([]bool{endpoints[0].Ready, endpoints[1].Ready, endpoints[1].Terminating, endpoints[2].Ready}).To(Equal([]bool{true, false, true, true}))
}

func TestAnswersOfAnAPIServer(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		says   string
		asks   time.Duration
	}{
		"refused": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"message": "not yours"}`)
		}, "the API server answers 403: not yours", 0},
		"too busy": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
		}, "the API server answers 429: no Status", 30 * time.Second},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
			"the API server answers 307", 0},
		"a long message": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"message": "`+strings.Repeat("x", 1<<20)+`"}`)
		}, "the API server answers 400: xxx", 0},
		"a long answer": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 17<<20)) }, "more than 16777216 bytes", 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			err := serve(t, "token", test.answer).Report(t.Context(), "node-a", v1alpha1.Report{})
			g.Expect(err).To(MatchError(ContainSubstring(test.says)))
			g.Expect(len(err.Error())).To(BeNumerically("<", 1000))
			var status *apiserver.StatusError
			if test.asks > 0 {
				g.Expect(errors.As(err, &status)).To(BeTrue())
				g.Expect(status.RetryAfter).To(Equal(test.asks))
			}
		})
	}
}
