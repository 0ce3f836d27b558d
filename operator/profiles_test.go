// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
)

func TestProfilesAreServedOnlyIfTheConfigurationSaysSo(t *testing.T) {
	g := NewWithT(t)
	config, err := configv1alpha1.Load(nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect((&Options{Config: config}).managerOptions().Metrics.ExtraHandlers).To(BeEmpty())

	config, err = configv1alpha1.Load([]byte("debugging: {enableProfiling: true}"))
	g.Expect(err).NotTo(HaveOccurred())
	mux := http.NewServeMux()
	for path, handler := range (&Options{Config: config}).managerOptions().Metrics.ExtraHandlers {
		mux.Handle(path, handler)
	}
	for _, path := range []string{"/debug/pprof/heap", "/debug/pprof/profile?seconds=1"} {
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		g.Expect(answer.Code).To(Equal(http.StatusOK), path)
		g.Expect(answer.Body.Bytes()).To(HavePrefix("\x1f\x8b"), "a profile is compressed")
	}
}
