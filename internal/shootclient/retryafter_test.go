// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A shoot that asks for a day of patience must not occupy a worker for as long.
func TestNoRequestWaitsForAsLongAsAShootAsks(t *testing.T) {
	var asked atomic.Int32
	h := newHostile(t, hostileAnswers{configMap("one"): func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Retry-After", "86400")
		answerWith(429, status(429, "TooManyRequests", "come back tomorrow"))(w, r)
	}})
	began := time.Now()
	err := h.get("one")
	h.Expect(apierrors.IsTooManyRequests(err)).To(BeTrue())
	h.Expect(err).To(MatchError("come back tomorrow"))
	h.Expect(time.Since(began)).To(BeNumerically("<", time.Hour))
	h.Expect(asked.Load()).To(BeEquivalentTo(1))
}
