// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A shoot that sends its answer byte by byte occupies a worker no longer than one that does not
// answer.
func TestARequestEndsInTimeWithItsBody(t *testing.T) {
	h := newHostile(t, hostileAnswers{configMap("one"): func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"ConfigMap",`)
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
		_, _ = io.WriteString(w, `"apiVersion":"v1"}`)
	}}, func(o *Options) { o.RequestTimeout = 2 * time.Second })
	shoot := h.shoot()
	_, err := shoot.Client.RESTMapper().RESTMapping(configMaps.GroupKind())
	h.Expect(err).NotTo(HaveOccurred())
	err = shoot.Failure(shoot.Client.Get(h.ctx, client.ObjectKey{Namespace: "kube-system", Name: "one"}, &corev1.ConfigMap{}))
	h.Expect(err).To(MatchError(HaveSuffix("cannot be reached: it has not answered in time")))
}

// Less time is lost with one that has not answered yet.
func TestTheFirstContactEndsInTime(t *testing.T) {
	h := newHostile(t, hostileAnswers{"/version": func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
		answerWith(200, usual["/version"])(w, r)
	}}, func(o *Options) { o.ConnectTimeout, o.RequestTimeout = time.Second, time.Hour })
	_, err := h.clients.For(h.ctx, "shoot--tenant")
	h.Expect(err).To(MatchError(HaveSuffix("cannot be reached: it has not answered in time")))
}

// However many controllers ask, a shoot gets so many requests a second.
func TestTheRequestsToAShootAreLimited(t *testing.T) {
	const burst = 10
	h := newHostile(t, hostileAnswers{configMap("one"): answerWith(200, `{"kind":"ConfigMap","apiVersion":"v1"}`)},
		func(o *Options) { o.QPS, o.Burst = 0.001, burst })
	shoot := h.shoot()
	ctx, cancel := context.WithTimeout(h.ctx, time.Minute)
	defer cancel()
	err := error(nil)
	sent := 0
	for ; err == nil && sent <= 2*burst; sent++ {
		err = shoot.Client.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "one"}, &corev1.ConfigMap{})
	}
	h.Expect(err).To(MatchError(ContainSubstring("rate limiter")))
	h.Expect(sent).To(BeNumerically("<=", burst+1))
}
