// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// A leader that did not run for longer than the Lease's duration writes nothing until it
// has the Lease again, in the seed or elsewhere; neither does one that released it.
func TestALeaderThatWasPausedWritesNothing(t *testing.T) {
	g := NewWithT(t)
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(server.Close)
	now := time.Now()
	f := newFence(&manager.Options{LeaderElectionNamespace: "garden", LeaderElectionID: "trellis-operator", LeaseDuration: new(15 * time.Second)})
	f.now = func() time.Time { return now }
	api := &http.Client{Transport: f.wrap(http.DefaultTransport)}
	send := func(method, path string, body ...byte) error {
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, bytes.NewReader(body))
		g.Expect(err).NotTo(HaveOccurred())
		response, err := api.Do(request)
		if err == nil {
			err = response.Body.Close()
		}
		return err
	}
	const secrets = "/api/v1/namespaces/one/secrets"
	refused := MatchError(ContainSubstring("not sent: this process renewed the leader's Lease 15s ago, which expires after 15s"))
	const leases = "/apis/coordination.k8s.io/v1/namespaces/garden/leases"
	lease := func(mediaType, name string, holder *string) []byte {
		info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
		raw, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, coordinationv1.SchemeGroupVersion),
			&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: coordinationv1.LeaseSpec{HolderIdentity: holder}})
		g.Expect(err).NotTo(HaveOccurred())
		return raw
	}
	hold := func(mediaType string, holder *string) error {
		return send(http.MethodPut, leases+"/trellis-operator", lease(mediaType, "trellis-operator", holder)...)
	}
	renew := func() error { return hold(runtime.ContentTypeJSON, new("this")) }

	g.Expect(send(http.MethodPost, secrets)).To(Succeed(), "a process that was never elected writes what all replicas write")
	status = http.StatusCreated
	for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		g.Expect(send(http.MethodPost, leases, lease(mediaType, "another", new("this"))...)).To(Succeed())
		now = now.Add(time.Hour)
		g.Expect(send(http.MethodPost, secrets)).To(Succeed(), "another Lease does not matter")
	}
	g.Expect(send(http.MethodPost, leases, lease(runtime.ContentTypeJSON, "trellis-operator", new("this"))...)).To(Succeed())
	now = now.Add(15 * time.Second)
	g.Expect(send(http.MethodPost, secrets)).To(refused, "the process that creates the Lease holds it no longer than others")
	status = http.StatusOK
	g.Expect(renew()).To(Succeed())
	now = now.Add(14 * time.Second)
	g.Expect(send(http.MethodPatch, secrets+"/a")).To(Succeed())
	now = now.Add(time.Second)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		g.Expect(send(method, secrets)).To(refused, method)
	}
	g.Expect(send(http.MethodGet, secrets)).To(Succeed())

	status = http.StatusConflict
	g.Expect(renew()).To(Succeed(), "it is sent; another process has the Lease")
	g.Expect(send(http.MethodPost, secrets)).To(refused)
	status = http.StatusOK
	g.Expect(renew()).To(Succeed())
	g.Expect(send(http.MethodPost, secrets)).To(Succeed())

	for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		for _, holder := range []*string{nil, new("")} {
			g.Expect(hold(mediaType, holder)).To(Succeed())
			g.Expect(send(http.MethodPost, secrets)).To(MatchError(ContainSubstring("released the leader's Lease")), mediaType)
			g.Expect(hold(mediaType, new("this"))).To(Succeed())
			g.Expect(send(http.MethodPost, secrets)).To(Succeed(), mediaType)
		}
	}
}
