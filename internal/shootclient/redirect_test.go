// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A shoot's API server must not make the operator ask another server, whose answer would be
// in a status, nor repeat a write there.
func TestNoRequestFollowsARedirect(t *testing.T) {
	var asked atomic.Int32
	internal := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"SecretAccessKey":"wJalrXUtnFEMI"}`)
	}))
	defer internal.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			h := newHostile(t, hostileAnswers{"*": func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, internal.URL+"/credentials", code)
			}})
			patched := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "one"}}
			shoot := h.shoot()
			for _, err := range []error{
				h.get("one"),
				shoot.Failure(shoot.Client.Patch(h.ctx, patched, client.RawPatch("application/merge-patch+json", []byte(`{}`)))),
			} {
				h.Expect(errors.As(err, new(*UnreachableError))).To(BeTrue())
				h.Expect(err).To(MatchError(And(ContainSubstring(errRedirect.Error()), Not(ContainSubstring("wJalrXUtnFEMI")))))
			}
			h.Expect(asked.Load()).To(BeZero())
		})
	}
}

// The first contact does not follow one either.
func TestAnAPIServerThatRedirectsIsNotConnectedTo(t *testing.T) {
	h := newHostile(t, hostileAnswers{"/version": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://internal.example", http.StatusFound)
	}})
	_, err := h.clients.For(h.ctx, "shoot--tenant")
	h.Expect(err).To(MatchError("the shoot's API server " + h.server.URL + " cannot be reached: GET /version: " + errRedirect.Error()))
}
