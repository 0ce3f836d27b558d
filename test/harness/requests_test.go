// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestRequestsAboutObjectsAreRecorded(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusConflict) }))
	defer server.Close()
	requests := &Requests{}
	send := func(method, path, body string) error {
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		g.Expect(err).NotTo(HaveOccurred())
		response, err := requests.Wrap(http.DefaultTransport).RoundTrip(request)
		if err == nil {
			err = response.Body.Close()
		}
		return err
	}
	const secrets = "/api/v1/namespaces/one/secrets"
	for _, silent := range []string{"/api", "/api/v1", "/apis/apps/v1", secrets + "?watch=true", secrets + "?limit=500", "/api/v1/namespaces/one/events/two"} {
		g.Expect(send(http.MethodGet, silent, "")).To(Succeed())
	}
	g.Expect(requests.All()).To(BeEmpty())

	g.Expect(send(http.MethodGet, secrets+"/two", "")).To(Succeed())
	g.Expect(send(http.MethodPatch, secrets+"/two?dryRun=All", "{}")).To(Succeed())
	requests.Before(func(*http.Request) error { return errors.New("refused") })
	g.Expect(send(http.MethodPatch, secrets+"/two", "{}")).To(MatchError("refused"))
	requests.Before(nil)
	requests.After(func(answered Request) error { return errors.New(answered.String()) })
	g.Expect(send(http.MethodDelete, secrets+"/two", "")).To(MatchError("DELETE " + secrets + "/two 409"))

	g.Expect(requests.All("secrets")).To(Equal([]string{
		"GET " + secrets + "/two 409", "PATCH " + secrets + "/two dry-run 409", "PATCH " + secrets + "/two", "DELETE " + secrets + "/two 409",
	}))
	g.Expect(requests.All("PATCH", "dry-run")).To(HaveLen(1))
	g.Expect(requests.Writes()).To(HaveLen(2))
	g.Expect(requests.Sent()[1].Body).To(Equal("{}"))
	requests.Forget()
	g.Expect(requests.Sent()).To(BeEmpty())
}
