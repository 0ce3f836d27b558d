// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// replaceShoot makes the kubeconfig lead to a server that the test has written.
func (e *env) replaceShoot(answer http.HandlerFunc) {
	e.t.Helper()
	server := httptest.NewServer(answer)
	e.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	config, err := clientcmd.Load(e.shoot.Kubeconfig)
	e.Expect(err).NotTo(HaveOccurred())
	for name := range config.Clusters {
		config.Clusters[name] = &clientcmdapi.Cluster{Server: server.URL}
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: "tenant"}
	}
	kubeconfig, err := clientcmd.Write(*config)
	e.Expect(err).NotTo(HaveOccurred())
	e.seed.PutAccess(e.t, e.namespace, kubeconfig)
}

// An API server that redirects a write makes the operator tell nothing of what is there.
func TestNothingOfARedirectIsTold(t *testing.T) {
	e := newEnv(t)
	answers := map[string]string{
		"/version": `{"gitVersion":"v1.34.0"}`,
		"/api":     `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis":    `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apps","versions":[]}]}`,
		"/api/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[
{"name":"configmaps","kind":"ConfigMap","namespaced":true,"verbs":["list","watch","get","patch"]}]}`,
	}
	e.replaceShoot(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, discovery := answers[r.URL.Path]
		switch {
		case discovery:
			_, _ = io.WriteString(w, answer)
		case r.URL.Path == "/credentials":
			_, _ = io.WriteString(w, `{"SecretAccessKey":"wJalrXUtnFEMI"}`)
		case r.Method == http.MethodPatch:
			http.Redirect(w, r, "/credentials", http.StatusFound)
		case r.URL.Query().Has("sendInitialEvents"):
			w.WriteHeader(http.StatusUnprocessableEntity)
		case r.URL.Query().Has("watch"):
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			_, _ = io.WriteString(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[]}`)
		}
	})
	e.state("network", e.configMap("one"))
	e.operator()
	e.Eventually(e.message("network", "ResourcesApplied")).Should(ContainSubstring("leads to another address, which is not followed"))
	e.Expect(e.message("network", "ResourcesApplied")()).NotTo(ContainSubstring("wJalrXUtnFEMI"))
}

// What answers 404 to everything is no API server, and nothing is deleted by its word.
func TestNothingIsGoneWhereNoAPIServerSaysSo(t *testing.T) {
	e := newEnv(t)
	one := e.configMap("one", "a", "b")
	mr := e.state("network", one)
	e.operator()
	e.becomesGood("network")
	e.replaceShoot(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<h1>default backend - 404</h1>")
	})
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.Eventually(e.message("network", "ResourcesApplied")).Should(ContainSubstring("is not a Kubernetes API server"))
	e.Expect(e.get("network").Finalizers).NotTo(BeEmpty())
	e.Expect(e.exists(one)()).To(BeTrue())

	e.seed.PutAccess(t, e.namespace, e.shoot.Kubeconfig)
	e.isGone(mr)
	e.Expect(e.exists(one)()).To(BeFalse())
}
