// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/keyed"
)

// pretender is an API server with two kinds, whose lists and watches a test plays.
type pretender struct {
	*httptest.Server
	// items writes the items of each page of a list, with a comma after each, and reports
	// whether there are more; nil writes none.
	items func(io.Writer) (more bool)
	// events writes the events of each watch; nil writes none and waits.
	events func(io.Writer) (more bool)
	// broken makes it answer each request with an error.
	broken atomic.Bool
}

func newPretender(t *testing.T, p *pretender) *pretender {
	t.Helper()
	p.Server = httptest.NewUnstartedServer(p)
	p.Config.ErrorLog = log.New(io.Discard, "", 0)
	p.StartTLS()
	t.Cleanup(p.end)
	return p
}

// end ends the server and all its connections.
func (p *pretender) end() {
	p.CloseClientConnections()
	p.Close()
}

// ServeHTTP implements http.Handler.
func (p *pretender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	switch {
	case p.broken.Load():
		answerWith(http.StatusInternalServerError, status(http.StatusInternalServerError, metav1.StatusReasonInternalError, "broken"))(w, r)
	case usual[r.URL.Path] != "":
		_, _ = io.WriteString(w, usual[r.URL.Path])
	case query.Has("sendInitialEvents"):
		answerWith(http.StatusUnprocessableEntity, status(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "lists are not streamed here"))(w, r)
	case query.Has("watch"):
		w.(http.Flusher).Flush()
		if p.events != nil {
			p.events(w)
		}
		<-r.Context().Done()
	case r.URL.Path == "/apis/apps/v1/daemonsets":
		_, _ = io.WriteString(w, `{"kind":"DaemonSetList","apiVersion":"apps/v1","metadata":{"resourceVersion":"1"},"items":[]}`)
	default:
		_, _ = io.WriteString(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[`)
		next := ""
		if p.items != nil && p.items(w) {
			next = "more"
		}
		_, _ = fmt.Fprintf(w, `{"metadata":{"name":"last"}}],"metadata":{"resourceVersion":"1","continue":%q}}`, next)
	}
}

// kubeconfig leads to the server.
func (p *pretender) kubeconfig() []byte { return pretend(p.Listener.Addr().String()) }

// secrets are the Secrets with kubeconfigs of a seed in memory.
type secrets struct {
	client.Reader
	all keyed.Map[client.ObjectKey, []byte]
}

func (s *secrets) put(namespace string, kubeconfig []byte) {
	s.all.Set(client.ObjectKey{Namespace: namespace, Name: SecretName}, kubeconfig)
}

func (s *secrets) delete(namespace string) {
	s.all.Delete(client.ObjectKey{Namespace: namespace, Name: SecretName})
}

// Get implements client.Reader.
func (s *secrets) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	kubeconfig, ok := s.all.Get(key)
	if !ok {
		return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
	}
	described := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "1", ResourceVersion: "1"}
	switch o := object.(type) {
	case *metav1.PartialObjectMetadata:
		o.ObjectMeta = described
	case *corev1.Secret:
		o.ObjectMeta, o.Data = described, map[string][]byte{SecretKey: kubeconfig}
	}
	return nil
}
