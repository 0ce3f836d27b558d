// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/keyed"
)

// hostile is the API server of a tenant, who wrote it: it answers what the test wants, and
// what the test leaves out as an API server with ConfigMaps, DaemonSets and a custom kind.
type hostile struct {
	*WithT
	ctx     context.Context
	server  *httptest.Server
	clients *Clients
	// answers are the handlers of paths, in place of the usual ones.
	answers keyed.Map[string, http.HandlerFunc]
}

// hostileAnswers are the paths that a hostile API server answers in its own way.
type hostileAnswers map[string]http.HandlerFunc

// usual is how an API server answers.
var usual = map[string]string{
	"/version":             `{"major":"1","minor":"34","gitVersion":"v1.34.0"}`,
	"/api":                 `{"kind":"APIVersions","versions":["v1"]}`,
	"/apis":                `{"kind":"APIGroupList","apiVersion":"v1","groups":[` + group("apps") + `,` + group("example.org") + `]}`,
	"/api/v1":              resources("v1", "configmaps", "ConfigMap"),
	"/apis/apps/v1":        resources("apps/v1", "daemonsets", "DaemonSet"),
	"/apis/example.org/v1": resources("example.org/v1", "widgets", "Widget"),
}

func group(name string) string {
	return fmt.Sprintf(`{"name":%q,"versions":[{"groupVersion":"%s/v1","version":"v1"}],"preferredVersion":{"groupVersion":"%s/v1","version":"v1"}}`, name, name, name)
}

func resources(groupVersion, resource, kind string) string {
	return fmt.Sprintf(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[{"name":%q,"kind":%q,"namespaced":true,"verbs":["get","list","watch","patch","delete"]}]}`,
		groupVersion, resource, kind)
}

// answerWith answers with a JSON document.
func answerWith(code int, document string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, document)
	}
}

// status is a metav1.Status as JSON.
func status(code int, reason metav1.StatusReason, message string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":%q}`, reason, code, message)
}

func newHostile(t testing.TB, answers hostileAnswers, adjust ...func(*Options)) *hostile {
	t.Helper()
	h := &hostile{WithT: NewWithT(t), ctx: t.Context()}
	for path, answer := range answers {
		h.answers.Set(path, answer)
	}
	h.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer, own := h.answers.Get(r.URL.Path); own {
			answer(w, r)
		} else if document, known := usual[r.URL.Path]; known {
			answerWith(http.StatusOK, document)(w, r)
		} else if answer, own := h.answers.Get("*"); own {
			answer(w, r)
		} else {
			http.Error(w, "404 page not found", http.StatusNotFound)
		}
	}))
	h.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	h.server.EnableHTTP2 = true
	h.server.StartTLS()
	t.Cleanup(func() {
		h.server.CloseClientConnections()
		h.server.Close()
	})
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.server.Certificate().Raw})
	secret := &onlySecret{kubeconfig: kubeconfigOf(fmt.Sprintf(`"server":%q,"certificate-authority-data":%q`, h.server.URL, base64.StdEncoding.EncodeToString(ca)))}
	options := patient(secret, secret)
	for _, f := range adjust {
		f(&options)
	}
	h.clients = New(options)
	t.Cleanup(h.clients.Close)
	return h
}

// shoot connects to the API server.
func (h *hostile) shoot() *Shoot {
	shoot, err := h.clients.For(h.ctx, "shoot--tenant")
	h.Expect(err).NotTo(HaveOccurred())
	return shoot
}

// get asks for a ConfigMap.
func (h *hostile) get(name string) error {
	shoot := h.shoot()
	return shoot.Failure(shoot.Client.Get(h.ctx, client.ObjectKey{Namespace: "kube-system", Name: name}, &corev1.ConfigMap{}))
}

// configMap is the path of a ConfigMap.
func configMap(name string) string { return "/api/v1/namespaces/kube-system/configmaps/" + name }

// onlySecret reads one Secret with a kubeconfig.
type onlySecret struct{ kubeconfig []byte }

// Get implements client.Reader.
func (o *onlySecret) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if key.Name != SecretName {
		return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
	}
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	object.SetResourceVersion("1")
	if secret, ok := object.(*corev1.Secret); ok {
		secret.Data = map[string][]byte{SecretKey: o.kubeconfig}
	}
	return nil
}

// List implements client.Reader.
func (*onlySecret) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// kubeconfigOf returns a kubeconfig whose cluster has these fields.
func kubeconfigOf(cluster string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{%s}}],
"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{"token":"t"}}]}`, cluster)
}

// allocated returns how many bytes f allocates, with all that runs beside it.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
